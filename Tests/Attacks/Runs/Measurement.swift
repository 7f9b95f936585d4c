/// What was measured while attacks ran.
struct Measurement {
    /// Resident memory before the attacks, and its peak. In bytes.
    var residentBefore = 0
    var peak = 0
    /// The most that the ledger charged, and resident memory at that moment; nil where the daemon does not say.
    var charged: Int?
    var residentWhenCharged = 0
    /// How much work the event loop may do before it answers a ping, in milliseconds.
    var workLimit = 0.0
    /// Of the innocents: what `InnocentsProgram` prints.
    var innocents: [String: Double] = [:]
    /// Of the attacks.
    var figures: [String: Double] = [:]
    /// Whether everything of the attacks was gone from the daemon after them, and the daemon ended in order.
    var isCleanedUp = true
    var ending = ""
    /// What it is compared with, if anything.
    var remark = ""

    var lost: Int { Int(innocents["lost"] ?? 1e9) }
    var disordered: Int { Int(innocents["disordered"] ?? 1e9) }
    /// Of innocents' deliveries a second, beside what they were to be.
    var rate: Double { innocents["rate"] ?? 0 }
    var rateShare: Double { rate / (innocents["wanted"] ?? .infinity) }
    /// The worst ping on the clock, and what the daemon did meanwhile. In milliseconds.
    var ping: Double { innocents["ping"] ?? .infinity }
    var work: Double { innocents["work"] ?? .infinity }

    var growth: Int { peak - residentBefore }
}

extension Measurement: CustomStringConvertible {
    var description: String {
        let ledger = charged.map { "\($0 >> 20) MB (resident then \(residentWhenCharged >> 20))" } ?? "not reported"
        return "resident \(residentBefore >> 20) -> \(peak >> 20) MB, ledger \(ledger), worst ping \(rounded(ping)) ms "
            + "(work \(rounded(work)) ms), innocents: lost \(lost), out of order \(disordered), "
            + "\(Int(rate))/s = \(rateShare.isFinite && rateShare > 1e-9 ? "\(Int(rateShare * 100)) %" : "all they can")\(remark)"
    }

    private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
