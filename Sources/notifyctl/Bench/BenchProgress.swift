import Synchronization

/// The numbers of messages that all clients of a benchmark have posted and received so far, for the line of progress.
enum BenchProgress {
    static let posted = Atomic<UInt64>(0)
    static let received = Atomic<UInt64>(0)

    /// The line of a benchmark that posts this number of messages.
    static func line(of total: Int, after elapsed: Duration) -> String {
        line(
            posted: posted.load(ordering: .relaxed), of: UInt64(total), received: received.load(ordering: .relaxed),
            after: elapsed)
    }

    /// A line such as `[#####...............]  25% posted 1,200 of 4,800 (600/s), received 1,100 in 2 s`.
    static func line(posted: UInt64, of total: UInt64, received: UInt64, after elapsed: Duration) -> String {
        let rate = BenchFormat.grouped(Quantities.rate(from: 0, to: posted, in: elapsed))
        let numbers = "posted \(BenchFormat.grouped(posted)) of \(BenchFormat.grouped(total)) (\(rate)/s)"
        let receipts = received > 0 ? ", received \(BenchFormat.grouped(received))" : ""
        let share = ProgressBar.share(posted, of: total, width: 20)
        return "\(share) \(numbers)\(receipts) in \(elapsed.components.seconds) s"
    }
}
