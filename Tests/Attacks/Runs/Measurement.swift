/// The measurements of one run of attacks.
struct Measurement {
    /// Resident memory before the attacks, and its peak. In bytes.
    var residentBefore = 0
    var peak = 0
    /// The maximum of the bytes that the ledger charged, or nil if the daemon does not report them, and resident memory
    /// in bytes at that time.
    var charged: Int?
    var residentWhenCharged = 0
    /// The limit of ``work`` in milliseconds.
    var workLimit = 0.0
    /// The results of the innocents, as printed by `InnocentsProgram`.
    var innocents: [String: Double] = [:]
    /// The results of the attacks: the sums of ``Attack/figures``.
    var figures: [String: Double] = [:]
    /// Whether the daemon had released all connections and subscriptions of the attacks.
    var isReleased = true
    /// The charges of the users after the attacks, without those for durable subscriptions and stored names.
    var left: [String] = []
    /// The reason that the daemon did not stop with status 0; empty if it did.
    var exitProblem = ""
    /// Additions to the description: the last refusal, and the reference run that the run is compared with.
    var note = ""

    var lost: Int { Int(innocents["lost"] ?? 1e9) }
    var disordered: Int { Int(innocents["disordered"] ?? 1e9) }
    /// Deliveries to the innocents per second, and their share of the rate wanted.
    var rate: Double { innocents["rate"] ?? 0 }
    var rateShare: Double { rate / (innocents["wanted"] ?? .infinity) }
    /// The maximum elapsed time of a ping, and the maximum CPU time of the event loop during one, both in milliseconds.
    var ping: Double { innocents["ping"] ?? .infinity }
    var work: Double { innocents["work"] ?? .infinity }

    var growth: Int { peak - residentBefore }
}

extension Measurement: CustomStringConvertible {
    var description: String {
        let ledger = charged.map { "\($0 >> 20) MB (resident then \(residentWhenCharged >> 20))" } ?? "not reported"
        return "resident \(residentBefore >> 20) -> \(peak >> 20) MB, ledger \(ledger), worst ping \(rounded(ping)) ms "
            + "(work \(rounded(work)) ms), innocents: lost \(lost), out of order \(disordered), "
            + "\(Int(rate))/s = \(rateShare.isFinite && rateShare > 1e-9 ? "\(Int(rateShare * 100)) %" : "unlimited")\(note)"
    }

    private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
