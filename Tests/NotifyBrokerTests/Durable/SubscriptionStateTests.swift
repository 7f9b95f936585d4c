import Testing

@testable import NotifyBroker

/// Every state of a durable subscription with every event.
struct SubscriptionStateTests {
    /// The outcome of each event in each state, as ``SubscriptionCase/summary`` words it: the members, with stalled
    /// ones in lower case, and the state of the observed message. A number counts failures. `firstA`: in flight to A
    /// for the first time. `again1A`: in flight to A as a redelivery. `log`: delivered later from the log, for the
    /// first time or again. `dead`, `bury`: to become a dead letter, becoming one. `moving`: was held by a member that
    /// has ended.
    ///
    /// `=` changes nothing, `!` is refused, `never` is impossible. After `message`, the outcome is the member that gets
    /// a new message.
    private static let tables = [
        """
        state        free         exclusive  held      one     two      removing
        begin        -:log        A:log      A:firstA  A:log   AB:log   removed:log
        attach       C:log        !held      !held     AC:log  ABC:log  !inUse
        takeOver     C:log        C:log      C:log     C:log   C:log    !inUse
        detach       never        -:log      -:log     -:log   B:log    never
        lost         never        -:log      -:log     -:log   B:log    never
        acknowledge  never        never      A:done    never   never    never
        lateAck      never        never      never     never   never    never
        reject       never        never      A:wait1   never   never    never
        lateReject   never        never      never     never   never    never
        giveBack     never        never      A:wait0   never   never    never
        extend       never        never      =         never   never    never
        fail         never        never      A:dead1   never   never    never
        deadline     never        never      never     never   never    never
        message      stays        toA        toA       toA     toA      stays
        settings     =            =          =         =       =        !inUse
        removal      removed:log  !inUse     !inUse    !inUse  !inUse   !inUse
        """,
        """
        state        alone      flight      expired     stalled      waits
        begin        A:firstA   AB:firstA   AB:firstA   aB:again1B   AB:wait1
        attach       AC:firstA  ABC:firstA  ABC:firstA  aBC:again1B  ABC:wait1
        takeOver     C:log      C:log       C:log       C:wait1      C:wait1
        detach       -:log      B:wait0     B:wait0     a:wait1      B:wait1
        lost         -:wait1    B:wait1     B:wait1     a:dead2      B:wait1
        acknowledge  A:done     AB:done     AB:done     aB:done      never
        lateAck      never      never       never       AB:done      never
        reject       A:wait1    AB:wait1    AB:wait1    aB:dead2     never
        lateReject   never      never       never       AB:again1B   never
        giveBack     A:wait0    AB:wait0    AB:wait0    aB:wait1     never
        extend       A:again0A  AB:again0A  AB:again0A  =            never
        fail         A:dead1    AB:dead1    AB:dead1    aB:dead2     never
        deadline     a:wait1    aB:wait1    aB:wait1    ab:dead2     AB:due1
        message      toA        toB         toB         toB          toB
        settings     =          =           =           =            =
        removal      !inUse     !inUse      !inUse      !inUse       !inUse
        """,
        """
        state        deadLettering    detaching  ended           last         full
        begin        ab:bury2   B:moving   -:moving        AB:again1A   AB:firstA
        attach       abC:bury2  BC:moving  C:moving        ABC:again1A  ABC:firstA
        takeOver     C:bury2    C:moving   C:moving        C:wait1      C:log
        detach       b:bury2    -:moving   never           B:wait1      B:wait0
        lost         b:bury2    -:moving   never           B:dead2      B:wait1
        acknowledge  never      never      never           AB:done      AB:done
        lateAck      Ab:done    never      never           never        never
        reject       never      never      never           AB:dead2     AB:wait1
        lateReject   Ab:bury2   never      never           never        never
        giveBack     never      never      never           AB:wait1     AB:wait0
        extend       never      never      never           =            AB:again0A
        fail         never      never      never           AB:dead2     AB:dead1
        deadline     never      never      never           aB:dead2     aB:wait1
        message      toB        toB        stays           toB          stays
        settings     =          =          =               =            =
        removal      !inUse     !inUse     removed:moving  !inUse       !inUse
        """,
    ]

    /// The cells of the tables, by event and state.
    private static let cells: [String: [String: String]] = {
        var cells: [String: [String: String]] = [:]
        for table in tables {
            let rows = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            for row in rows.dropFirst() {
                for (state, cell) in zip(rows[0], row).dropFirst() { cells[row[0], default: [:]][state] = cell }
            }
        }
        return cells
    }()

    @Test func `the table has each pair of a state and an event, and each event is possible in some state`() {
        #expect(Set(Self.cells.keys) == Set(SubscriptionEvent.allCases.map(\.rawValue) + ["begin"]))
        let states = Set(SubscriptionState.allCases.map(\.rawValue))
        for (event, row) in Self.cells {
            #expect(Set(row.keys) == states, "\(event)")
            #expect(row.values.contains { $0 != "never" && $0 != "=" }, "\(event)")
        }
    }

    @Test(arguments: SubscriptionState.allCases)
    func `each event has the outcome of the table`(_ state: SubscriptionState) throws {
        let begin = try state.make().summary
        #expect(begin == Self.cells["begin"]?[state.rawValue])
        for event in SubscriptionEvent.allCases {
            var made = try state.make()
            let outcome = event.apply(to: &made) ?? "never"
            #expect((outcome == begin ? "=" : outcome) == Self.cells[event.rawValue]?[state.rawValue], "\(event)")
            made.checkCounts("\(state), \(event)")
            if outcome.hasPrefix("!") { #expect(made.summary == begin, "\(event): a refusal changes nothing") }
            made.settle()
            made.checkCounts("\(state), \(event), later")
            #expect(made.durable.endedMembers.isEmpty && made.cursorIsOrdered, "\(event)")
        }
    }

    @Test(arguments: SubscriptionState.allCases)
    func `an answer that comes twice has no further effect`(_ state: SubscriptionState) throws {
        for event in [SubscriptionEvent.acknowledge, .reject, .giveBack, .fail, .lateAck, .lateReject] {
            var made = try state.make()
            guard event.apply(to: &made) != nil else { continue }
            let once = made.summary
            #expect(event.apply(to: &made) == once, "\(event)")
            made.checkCounts("\(state), \(event) twice")
        }
    }
}
