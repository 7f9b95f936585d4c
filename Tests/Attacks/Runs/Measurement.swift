/// The measurements of one run of attacks.
struct Measurement {
    /// Resident memory in bytes before the attacks.
    var residentBefore = 0
    /// Resident memory in bytes once the attacks' connections are closed. In the row `storm`, the daemon first has at
    /// most a minute to return memory.
    var residentAfter = 0
    /// Peak resident memory in bytes during the attacks and their set-up.
    var peak = 0
    /// The maximum of the bytes that the ledger charged; nil if the daemon does not report them.
    var charged: Int?
    /// Resident memory in bytes at the time of ``charged``.
    var residentWhenCharged = 0
    /// The limit of ``work`` in milliseconds.
    var workLimit = 0.0
    /// The results of the innocents, as printed by `InnocentsProgram`.
    var innocents: [String: Double] = [:]
    /// The results of the attacks: the sums of ``Attack/figures``.
    var figures: [String: Double] = [:]
    /// The daemon's counts of the messages that clients reported as dropped, and of the messages that it delivered.
    var (droppedByClients, delivered): (UInt64, UInt64) = (0, 0)
    /// Whether the daemon released all connections and subscriptions after the attacks.
    var isReleased = true
    /// The users' charges that remain after the attacks, except for durable subscriptions, stored messages, their
    /// names, and values.
    var left: [String] = []
    /// The reason that the daemon did not stop with status 0; empty if it did.
    var exitProblem = ""
    /// Additions to the description: the refusal of an innocent client, and the results of the reference run.
    var note = ""

    var lost: Int { Int(innocents["lost"] ?? 1e9) }
    var disordered: Int { Int(innocents["disordered"] ?? 1e9) }
    /// Deliveries to the innocents per second.
    var rate: Double { innocents["rate"] ?? 0 }
    /// The CPU time of the event loop for each delivery to the innocents, in microseconds.
    var cost: Double { innocents["cost"] ?? .infinity }
    /// ``rate`` as a share of the wanted rate, reduced to the available part of the machine; at most 1.
    var rateShare: Double { min(1, rate / (innocents["wanted"] ?? .infinity) / available) }
    /// The part of the machine that was available to the innocents and to the event loop, relative to the time in which
    /// the capacity was measured: the speed of the CPUs, reduced by the time in which they did other work.
    var available: Double { innocents["available"] ?? 1 }
    /// The maximum elapsed time of a ping, in milliseconds.
    var ping: Double { innocents["ping"] ?? .infinity }
    /// The maximum CPU time of the event loop during a ping, in milliseconds.
    var work: Double { innocents["work"] ?? .infinity }
    /// The time at which the ping of ``work`` was sent, in seconds after the innocents began to post.
    var workBegin: Double { innocents["workBegin"] ?? 0 }

    /// How often the innocents have used all kinds of requests about values, and the answers that were not as expected.
    var valueRounds: Int { Int(innocents["valueRounds"] ?? 0) }
    var wrongValues: Int { Int(innocents["wrongValues"] ?? 1e9) }

    /// The maximum elapsed time of an answer about values, in milliseconds.
    func slowestValue(_ kind: ValueProbe.Kind) -> Double { innocents[kind.rawValue] ?? .infinity }

    var growth: Int { peak - residentBefore }
}

extension Measurement: CustomStringConvertible {
    var description: String {
        let ledger = charged.map { "\($0 >> 20) MB (resident then \(residentWhenCharged >> 20))" } ?? "not reported"
        let resident = "\(residentBefore >> 20) -> \(peak >> 20) -> \(residentAfter >> 20) MB"
        return "resident \(resident), ledger \(ledger), worst ping \(rounded(ping)) ms "
            + "(work \(rounded(work)) ms, at \(rounded(workBegin)) s), innocents: lost \(lost), out of order \(disordered), "
            + "\(Int(rate))/s = \(rateShare.isFinite && rateShare > 1e-9 ? "\(Int(rateShare * 100)) %" : "unlimited") "
            + "on \(Int(available * 100)) % of the machine, "
            + "\(costText)\(valueText)\(note)"
    }

    var costText: String { "\((cost * 1000).rounded() / 1000) us of work each" }

    private var valueText: String {
        guard innocents["valueRounds"] != nil else { return "" }
        let slowest = ValueProbe.Kind.allCases.map { "\($0.title) \(rounded(slowestValue($0))) ms" }
        return ", values in \(valueRounds) rounds: " + slowest.joined(separator: ", ")
    }

    private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
