import TestSupport
import Testing

/// The checker of histories, with histories whose verdicts are known.
struct LinearizationTests {
    private typealias Entry = RecordedOperation<ValueOperation>

    private static func set(
        _ content: String, if expected: UInt64? = nil, _ result: ValueOperation.Result, _ invoked: UInt64,
        _ returned: UInt64
    ) -> Entry {
        Entry(ValueOperation(.set(content, ifSequence: expected), result), invoked: invoked, returned: returned)
    }

    private static func clear(
        if expected: UInt64? = nil, _ result: ValueOperation.Result, _ invoked: UInt64, _ returned: UInt64
    ) -> Entry {
        Entry(ValueOperation(.clear(ifSequence: expected), result), invoked: invoked, returned: returned)
    }

    private static func get(_ result: ValueOperation.Result, _ invoked: UInt64, _ returned: UInt64) -> Entry {
        Entry(ValueOperation(.get, result), invoked: invoked, returned: returned)
    }

    /// A set without an answer.
    private static func lost(
        _ content: String, if expected: UInt64? = nil, _ invoked: UInt64, until returned: UInt64? = nil
    ) -> Entry {
        Entry(
            ValueOperation(uncertain: .set(content, ifSequence: expected)), invoked: invoked, returned: returned,
            isCertain: false)
    }

    private static let good: [String: [Entry]] = [
        "nothing": [],
        "one client": [
            get(.noValue, 1, 2), set("a", if: 0, .changed(sequence: 5), 3, 4), get(.value("a", sequence: 5), 5, 6),
            set("b", if: 5, .changed(sequence: 7), 7, 8), set("c", if: 5, .refused(current: 7), 9, 10),
            clear(if: 7, .changed(sequence: 8), 11, 12), clear(.noValue, 13, 14), clear(if: 0, .noValue, 15, 16),
            clear(if: 7, .refused(current: 0), 17, 18), set("d", if: 0, .changed(sequence: 9), 19, 20),
        ],
        "a read that overlaps a set returns the value before it": [
            set("a", .changed(sequence: 1), 1, 2), set("b", .changed(sequence: 2), 3, 6),
            get(.value("a", sequence: 1), 4, 5),
        ],
        "a read that overlaps a set returns its value": [
            set("a", .changed(sequence: 1), 1, 10), get(.value("a", sequence: 1), 2, 3),
            get(.value("a", sequence: 1), 4, 5),
        ],
        "of two sets with one condition, one is refused": [
            set("a", if: 0, .changed(sequence: 4), 1, 5), set("b", if: 0, .refused(current: 4), 2, 4),
        ],
        "a lost set has no effect": [lost("a", 1), get(.noValue, 2, 3), get(.noValue, 4, 5)],
        "a lost set takes effect late": [
            lost("a", 1), get(.noValue, 2, 3), get(.value("a", sequence: 9), 4, 5), get(.value("a", sequence: 9), 6, 7),
        ],
        "a lost set is visible only as the sequence of a refusal": [
            lost("a", 1, until: 2), set("b", if: 0, .refused(current: 3), 3, 4),
            set("c", if: 3, .changed(sequence: 4), 5, 6),
        ],
        "a lost set is overwritten": [
            set("a", .changed(sequence: 1), 1, 2), lost("b", if: 1, 3, until: 5), set("c", .changed(sequence: 3), 4, 6),
            get(.value("c", sequence: 3), 7, 8),
        ],
        "a set depends on a lost one": [
            lost("a", if: 0, 1), set("b", if: 2, .changed(sequence: 3), 2, 4), get(.value("a", sequence: 2), 3, 5),
        ],
        "a lost clear": [
            set("a", .changed(sequence: 1), 1, 2),
            Entry(ValueOperation(uncertain: .clear(ifSequence: nil)), invoked: 3, returned: nil, isCertain: false),
            get(.value("a", sequence: 1), 4, 5), set("b", if: 1, .refused(current: 0), 6, 7), get(.noValue, 8, 9),
            set("c", if: 0, .changed(sequence: 3), 10, 11),
        ],
    ]

    private static let bad: [String: [Entry]] = [
        "an update is lost": [
            set("a", .changed(sequence: 1), 1, 2), set("b", if: 1, .changed(sequence: 2), 3, 5),
            set("c", if: 1, .changed(sequence: 3), 4, 6),
        ],
        "a condition has two winners": [
            set("a", if: 0, .changed(sequence: 1), 1, 3), set("b", if: 0, .changed(sequence: 2), 2, 4),
        ],
        "a read is stale": [
            set("a", .changed(sequence: 1), 1, 2), set("b", .changed(sequence: 2), 3, 4),
            get(.value("a", sequence: 1), 5, 6),
        ],
        "a later read is older": [
            set("a", .changed(sequence: 1), 1, 2), set("b", .changed(sequence: 2), 3, 8),
            get(.value("b", sequence: 2), 4, 5), get(.value("a", sequence: 1), 6, 7),
        ],
        "a value goes back after a crash": [
            set("a", .changed(sequence: 1), 1, 2), set("b", .changed(sequence: 2), 3, 4),
            lost("c", if: 2, 5, until: 6), get(.value("a", sequence: 1), 7, 8),
        ],
        "a confirmed value is absent after a crash": [
            set("a", .changed(sequence: 1), 1, 2), lost("b", 3, until: 4), get(.noValue, 5, 6),
        ],
        "a lost set takes effect, and not any more": [
            lost("a", 1), get(.value("a", sequence: 1), 2, 3), get(.noValue, 4, 5),
        ],
        "a lost set takes effect after its connection has ended": [
            lost("a", 1, until: 3), get(.noValue, 4, 5), get(.value("a", sequence: 1), 6, 7),
        ],
        "a lost set with an unmet condition takes effect": [
            set("a", .changed(sequence: 1), 1, 2), lost("b", if: 0, 3), get(.value("b", sequence: 2), 4, 5),
        ],
        "a lost set has two sequences": [
            lost("a", 1), get(.value("a", sequence: 1), 2, 3), get(.value("a", sequence: 2), 4, 5),
        ],
        "a value that was never set": [get(.value("a", sequence: 1), 1, 2)],
        "a value with another sequence than its receipt": [
            set("a", .changed(sequence: 1), 1, 2), get(.value("a", sequence: 2), 3, 4),
        ],
        "a refusal names an old sequence": [
            set("a", .changed(sequence: 1), 1, 2), set("b", .changed(sequence: 2), 3, 4),
            set("c", if: 0, .refused(current: 1), 5, 6),
        ],
        "a refusal agrees with the condition": [
            set("a", .changed(sequence: 1), 1, 2), set("b", if: 1, .refused(current: 1), 3, 4),
        ],
        "a value is cleared twice": [
            set("a", .changed(sequence: 1), 1, 2), clear(.changed(sequence: 2), 3, 5),
            clear(.changed(sequence: 3), 4, 6),
        ],
        "the sequence of a cleared value is expected": [
            set("a", .changed(sequence: 1), 1, 2), clear(.changed(sequence: 2), 3, 4),
            set("b", if: 2, .changed(sequence: 3), 5, 6),
        ],
        "a sequence is given again": [
            set("a", .changed(sequence: 1), 1, 2), clear(.changed(sequence: nil), 3, 4),
            set("b", .changed(sequence: 2), 5, 6),
        ],
    ]

    private static func violation(_ entries: [Entry]) -> String? {
        Linearization(of: entries, ValueModel()).violation
    }

    @Test(arguments: good.keys.sorted())
    func `a possible history is accepted`(_ name: String) throws {
        let entries = try #require(Self.good[name])
        #expect(Self.violation(entries) == nil)
        #expect(Self.violation(entries.reversed()) == nil, "the order of the records has no meaning")
    }

    @Test(arguments: bad.keys.sorted())
    func `an impossible history is refused`(_ name: String) throws {
        let entries = try #require(Self.bad[name])
        #expect(Self.violation(entries) != nil)
    }

    @Test func `a refusal of a history shows the operations that do not fit`() throws {
        let entries = try #require(Self.bad["a read is stale"])
        let violation = try #require(Self.violation(entries))
        #expect(violation.contains("b at 2") && violation.contains("5–6"))
    }

    @Test func `each object has a history of its own`() {
        let history = History<String, ValueOperation>()
        for key in ["x", "y"] {
            let start = history.now()
            history.record(
                ValueOperation(.set("a", ifSequence: 0), .changed(sequence: 1)), on: key, invoked: start)
        }
        #expect(history.violations(of: ValueModel()).isEmpty)
        history.record(ValueOperation(.get, .noValue), on: "y", invoked: history.now())
        let violations = history.violations(of: ValueModel())
        #expect(violations.count == 1 && violations.first?.hasPrefix("y: ") == true)
        history.recordPending(ValueOperation(uncertain: .clear(ifSequence: nil)), on: "y", invoked: 1)
        #expect(history.violations(of: ValueModel()).isEmpty)
    }

    /// This history has more than 10^900 orders.
    @Test func `many concurrent operations are checked in a short time`() {
        var entries: [Entry] = []
        for round in 0..<200 as Range<UInt64> {
            let start = round * 100
            for client in 0..<8 as Range<UInt64> {
                let sequence = round * 8 + client + 1
                entries.append(
                    Self.set("\(sequence)", .changed(sequence: sequence), start + client, start + 50 + client))
            }
            for client in 0..<4 as Range<UInt64> {
                entries.append(Self.lost("\(round) \(client)", start + 60 + client, until: start + 70 + client))
            }
            let last = round * 8 + 8
            entries.append(Self.get(.value("\(last)", sequence: last), start + 80, start + 81))
        }
        let search = Linearization(of: entries, ValueModel())
        #expect(search.violation == nil)
        // Of at most eight concurrent operations, any may be ordered already.
        #expect(search.configurations < entries.count << 8)
    }

    // MARK: Random histories

    /// A random history of a few operations, with results that are often possible.
    private static func random(_ random: inout SeededGenerator) -> [Entry] {
        let count = Int.random(in: 2...5, using: &random)
        var times = Array(1...UInt64(2 * count)).shuffled(using: &random)[...]
        return (0..<count).map { index in
            let (one, other) = (times.removeFirst(), times.removeFirst())
            let (invoked, returned) = (min(one, other), max(one, other))
            let sequence = UInt64.random(in: 1...4, using: &random)
            let expected = random.chance(50) ? nil : UInt64.random(in: 0...3, using: &random)
            let content = "\(Int.random(in: 0..<count, using: &random))"
            let isLost = random.chance(25)
            let request: ValueOperation.Request =
                random.chance(70) ? .set("\(index)", ifSequence: expected) : .clear(ifSequence: expected)
            if isLost {
                return Entry(
                    ValueOperation(uncertain: request), invoked: invoked, returned: random.chance(50) ? returned : nil,
                    isCertain: false)
            }
            if random.chance(30) {
                let result: ValueOperation.Result = random.chance(30) ? .noValue : .value(content, sequence: sequence)
                return Entry(ValueOperation(.get, result), invoked: invoked, returned: returned)
            }
            var result = ValueOperation.Result.changed(sequence: sequence)
            if case .clear = request, random.chance(30) { result = .noValue }
            if expected != nil, random.chance(40) { result = .refused(current: sequence - 1) }
            return Entry(ValueOperation(request, result), invoked: invoked, returned: returned)
        }
    }

    /// Whether there is a linearization, by trying every order of every choice of the uncertain operations.
    private static func isPossible(_ rest: [Entry], _ state: ValueModel.State, latest: UInt64 = 0) -> Bool {
        if rest.allSatisfy({ !$0.isCertain }) { return true }
        return rest.indices.contains { index in
            // The moments of the effects ascend, and each can be as early as possible.
            let entry = rest[index]
            let moment = max(latest, entry.invoked)
            guard entry.returned.map({ moment < $0 }) ?? true else { return false }
            var others = rest
            others.remove(at: index)
            return ValueModel().states(after: entry.operation, in: state).contains {
                isPossible(others, $0, latest: moment)
            }
        }
    }

    @Test func `the verdict is that of a search through all orders`() {
        var random = SeededGenerator(seed: 1)
        var possible = 0
        for number in 0..<5_000 {
            let entries = Self.random(&random)
            let isPossible = Self.isPossible(entries, ValueModel().initialState)
            possible += isPossible ? 1 : 0
            #expect((Self.violation(entries) == nil) == isPossible, "history \(number): \(entries)")
        }
        #expect(possible > 500 && possible < 4_500)
    }
}
