/// A row of the table of attacks: the way to run an attack, and the limits that must hold.
struct Row: Sendable {
    let kind: AttackKind
    let title: String
    /// Runs the attack. Returns the measurement and the limits that were exceeded.
    let verdict: @Sendable (_ program: DaemonProgram, _ seconds: Int) throws -> (Measurement, broken: [String])

    /// A row whose attack is run once.
    ///
    /// - Parameters:
    ///   - share: The share of the daemon's capacity at which the innocents post; 0 for as fast as possible, once the
    ///     attack is set up.
    ///   - users: The users that run the attack, each in a process of its own.
    ///   - innocent: The user of the innocents.
    ///   - areValuesProbed: Whether the innocents also use values, and measure the answers.
    ///   - userLimits: Limits of each user, by the names of their settings. The others have their defaults.
    ///   - rule: Returns the exceeded limits of this row alone. The limits of every row are checked as well.
    init(
        _ kind: AttackKind, _ title: String, share: Double = 0.1, canHang: Bool = false, users: [User] = [.attacker],
        innocent: User = .innocent, areValuesProbed: Bool = false, userLimits: [String: Int] = [:],
        _ rule: @escaping @Sendable (Measurement) -> [String]
    ) {
        self.kind = kind
        self.title = title
        verdict = { program, seconds in
            let run = try AttackRun(
                program, share: share, innocent: innocent, areValuesProbed: areValuesProbed, canHang: canHang,
                userLimits: userLimits)
            let measurement = try run.measure(
                users.map { .init(kind: kind, user: $0, size: kind.size) }, for: .seconds(seconds),
                isSetUpMeasured: share > 0, hangingAfter: canHang ? .zero : nil)
            return (measurement, Limits.always(measurement) + Limits.effect(measurement, of: kind) + rule(measurement))
        }
    }

    /// A row whose attack is run at another size as the reference, and then at its own size.
    ///
    /// - Parameters:
    ///   - share: The share of the daemon's capacity at which the innocents post.
    ///   - size: The size of the reference run.
    ///   - rule: Returns the exceeded limits of this row alone. The limits of every row are checked as well.
    init(
        _ kind: AttackKind, _ title: String, share: Double, comparedWith size: Int,
        _ rule: @escaping @Sendable (_ measurement: Measurement, _ reference: Measurement) -> [String]
    ) {
        self.kind = kind
        self.title = title
        verdict = { program, seconds in
            let measure = { size in
                try AttackRun(program, share: share).measure(
                    [.init(kind: kind, size: size)], for: .seconds(seconds), isSetUpMeasured: false)
            }
            let reference = try measure(size)
            var measurement = try measure(kind.size)
            measurement.note += "; at the size \(size): \(reference.costText), \(reference.peak >> 20) MB"
            return (
                measurement,
                Limits.always(measurement) + Limits.effect(measurement, of: kind) + rule(measurement, reference)
            )
        }
    }

    /// Limits of the effect that attacks may have. Each function returns descriptions of the exceeded limits.
    enum Limits {
        static let rateShare = 0.8
        /// The maximum elapsed time of an answer about values, in milliseconds.
        static let valueMilliseconds = 1_000.0
        static let leastValueRounds = 10

        static func always(_ measurement: Measurement) -> [String] {
            var broken = memory(measurement) + latency(measurement)
            if !measurement.isReleased { broken.append("connections or subscriptions were not released") }
            if !measurement.left.isEmpty { broken.append("left: " + measurement.left.joined(separator: ", ")) }
            if !measurement.exitProblem.isEmpty { broken.append(measurement.exitProblem) }
            if measurement.disordered > 0 { broken.append("messages arrived out of order") }
            if measurement.lost > 0 { broken.append("messages were lost") }
            if measurement.droppedByClients > measurement.delivered {
                broken.append("clients dropped \(measurement.droppedByClients) of \(measurement.delivered) messages")
            }
            return broken
        }

        static func memory(_ measurement: Measurement) -> [String] {
            let limit = DaemonUnderAttack.budget + DaemonUnderAttack.allowance
            return measurement.peak <= limit ? [] : ["over \(limit >> 20) MB resident"]
        }

        /// A row proves nothing if the daemon refused too much of the attack, so such a row counts as broken.
        static func effect(_ measurement: Measurement, of kind: AttackKind) -> [String] {
            let admitted = Int(measurement.figures["admitted"] ?? 0)
            return admitted >= kind.leastAdmitted ? [] : ["only \(admitted) of \(kind.size) were admitted"]
        }

        /// Checks that each figure is at least as high as required.
        static func missing(_ required: KeyValuePairs<String, Int>, in measurement: Measurement) -> [String] {
            required.compactMap { name, least in
                let figure = Int(measurement.figures[name] ?? 0)
                return figure < least ? "\(name) is \(figure)" : nil
            }
        }

        static func latency(_ measurement: Measurement) -> [String] {
            let limit = measurement.workLimit
            return measurement.work <= limit ? [] : ["a ping took more than \(Int(limit)) ms of work"]
        }

        /// Checks the bytes that the kernel keeps because the attack does not read them.
        static func unread(_ measurement: Measurement) -> [String] {
            let unread = Int(measurement.figures["unreadBytes"] ?? .infinity)
            return unread <= DaemonUnderAttack.budget ? [] : ["\(unread >> 20) MB in sockets"]
        }

        static func rate(_ measurement: Measurement) -> [String] {
            measurement.rateShare >= rateShare ? [] : ["less than \(Int(rateShare * 100)) % of the rate"]
        }

        /// Checks the answers that the innocents got about their values.
        static func values(_ measurement: Measurement) -> [String] {
            let (rounds, wrong) = (measurement.valueRounds, measurement.wrongValues)
            return (rounds >= leastValueRounds ? [] : ["values were used in only \(rounds) rounds"])
                + (wrong == 0 ? [] : ["\(wrong) answers about values were wrong"])
                + ValueProbe.Kind.allCases.filter { measurement.slowestValue($0) > valueMilliseconds }.map {
                    "\($0.title) took \(Int(measurement.slowestValue($0))) ms"
                }
        }

        /// Checks that the growth of resident memory differs from the charged memory by at most 20 % of the growth or
        /// 16 MiB, whichever is more.
        static func agreement(_ measurement: Measurement) -> [String] {
            guard let charged = measurement.charged else { return ["the daemon reports no memory_bytes"] }
            let grown = measurement.residentWhenCharged - measurement.residentBefore
            let difference = abs(grown - charged)
            return difference <= max(16 << 20, grown / 5)
                ? [] : ["grown by \(grown >> 20) MB, charged \(charged >> 20) MB"]
        }
    }
}

extension Row {
    static let all: [Row] = [
        Row(.names, "10,000 subscriptions on '>', posts under 16,000 names") { Limits.agreement($0) },
        Row(.resolutions, "4,096 x 64 patterns of 18 tokens, 400 posts of new names in one write") { _ in [] },
        Row(.requests, "400 connections with 200 kB of requests each") { _ in [] },
        Row(.fanOut, "100,000 subscriptions of one client on '>'", share: 0) { _ in [] },
        Row(.unread, "unread answers") { Limits.agreement($0) },
        Row(.stoppedDurable, "40 stopped durable subscribers under load", share: 0.2, comparedWith: 1) {
            let each = ($0.growth - $1.growth) / (AttackKind.stoppedDurable.size - 1)
            return each <= 1 << 20 ? [] : ["\(each >> 10) KiB each"]
        },
        Row(.stoppedVolatile, "60 stopped volatile subscribers") { Limits.agreement($0) },
        Row(.patterns, "4,096 subscriptions x 64 patterns x 32 tokens on one connection") {
            let each = Double($0.growth) / max(1, $0.figures["tokens"] ?? 0)
            return (each <= 300 ? [] : ["\(Int(each)) bytes a token"]) + Limits.agreement($0)
        },
        Row(.bursts, "1,000 connections that send 686 MB at once") { _ in [] },
        Row(.attaching, "attach and detach while the disk hangs", canHang: true) {
            $0.growth <= 64 << 20 ? [] : ["grown by \($0.growth >> 20) MB"]
        },
        Row(.siblings, "80 stopped siblings beside a fast subscriber of the same user", innocent: .attacker) { _ in []
        },
        Row(.keepLatest, "16 stopped subscribers that keep the latest per name") { _ in [] },
        Row(.flood, "100 connections that flood, stop reading, or open everything they may") { Limits.rate($0) },
        Row(.members, "10,000 members of a group that reject, extend, or let deadlines pass") {
            let answers = Int($0.figures["answers"] ?? 0)
            return Limits.rate($0) + (answers >= 2 * AttackKind.members.size ? [] : ["only \(answers) answers"])
        },
        Row(.services, "8 servers that never respond, give calls back or respond wrongly, and 4 askers without end") {
            let missing = Limits.missing(
                ["calls": 1_000, "refusedRequests": 1, "refusedBytes": 1, "unknownCalls": 1], in: $0)
            return Limits.rate($0) + Limits.agreement($0) + missing
        },
        Row(.crowd, "12,000 connections that subscribe and do not read, 10 kB posts") {
            Limits.unread($0)
        },
        Row(.abandoned, "10,000 connections that are ended with full sockets and not closed") { Limits.unread($0) },
        Row(.storm, "15,000 connections that come and go") {
            let kept = $0.residentAfter - $0.residentBefore
            return kept <= 16 << 20 ? [] : ["\(kept >> 20) MB are kept"]
        },
        Row(.halfClose, "15,000 half-closed connections, 5,000 at once, and 2,000 with full sockets") { _ in [] },
        Row(
            .poison, "40 jobs of two users that the worker of a third one fails",
            users: PoisonAttack.posters + [PoisonAttack.worker], userLimits: ["stored_bytes": PoisonAttack.storedBytes]
        ) {
            let figures = $0.figures.mapValues { Int($0) }
            let (refusals, receipts) = (figures["refusals"] ?? 0, figures["receipts"] ?? 0)
            let failedBytes = figures["failedBytes"] ?? 0
            return (refusals == 0 ? [] : ["\(refusals) posts of the worker were refused"])
                + (receipts >= 100 ? [] : ["only \(receipts) posts of the worker were stored"])
                + ((PoisonAttack.storedBytes...PoisonAttack.maximumFailedBytes).contains(failedBytes)
                    ? [] : ["failed_bytes is \(failedBytes)"])
        },
        Row(
            .values, "values of 1 MiB, of ever new and of others' names, cleared without end, read by stopped clients",
            userLimits: ["values": ValuesAttack.values, "value_bytes": ValuesAttack.valueBytes]
        ) {
            let missing = Limits.missing(
                ["set": 300, "cleared": 5, "refusedValues": 20, "refusedBytes": 1, "forbidden": 1_000], in: $0)
            let permitted = Int($0.figures["permitted"] ?? 0)
            return Limits.rate($0) + Limits.agreement($0) + missing
                + (permitted == 0 ? [] : ["\(permitted) requests about another user's names were permitted"])
        },
        Row(
            .announcements,
            "values announced without end, taken over, watched by clients that stop reading, and ended with wills"
        ) {
            Limits.rate($0)
                + Limits.missing(["announced": 4_096, "refused": 100, "takenOver": 100, "ends": 1], in: $0)
        },
        Row(
            .reads, "100,000 unread pages of values, as many ends of unknown reads, and 32,768 values that end at once",
            areValuesProbed: true
        ) {
            let missing = Limits.missing(
                [
                    "unanswered": 100_000, "refusedReads": AttackKind.reads.size, "endedReads": 100_000,
                    "endedValues": 32_768, "refusedAnnouncements": 1,
                ], in: $0)
            return Limits.rate($0) + Limits.values($0) + missing
        },
    ]

    static func named(_ name: String) -> Row? {
        all.first { $0.kind.rawValue == name } ?? Int(name).flatMap { all.indices.contains($0 - 1) ? all[$0 - 1] : nil }
    }

    /// Runs the row. If the run itself fails, for example because the daemon crashes, the row counts as broken.
    func run(_ program: DaemonProgram, seconds: Int) -> Outcome {
        do {
            let (measurement, broken) = try verdict(program, seconds)
            return Outcome(title: "\(kind.rawValue): \(title)", measurement: measurement, broken: broken)
        } catch {
            return Outcome(title: "\(kind.rawValue): \(title)", measurement: nil, broken: ["\(error)"])
        }
    }
}

/// The result of a row or a mixture.
struct Outcome: CustomStringConvertible {
    var title: String
    var measurement: Measurement?
    var broken: [String]

    var description: String {
        let verdict = broken.isEmpty ? "held" : "BROKEN: " + broken.joined(separator: "; ")
        return "\(title)\n    \(measurement.map { "\($0)" } ?? "no measurement")\n    \(verdict)"
    }
}
