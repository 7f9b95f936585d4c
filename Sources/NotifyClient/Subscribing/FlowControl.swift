/// Back-pressure and drop reports of the subscriptions' buffers.
struct FlowControl {
    /// Drops are reported with the next write, or after this time at the latest.
    static let reportInterval = Duration.milliseconds(100)

    /// Subscriptions whose buffers hold back, that is, pause reading.
    private var holding: Set<UInt32> = []
    /// Subscriptions with unreported drops.
    private(set) var dropping: Set<UInt32> = []
    /// When drops must be reported at the latest.
    private(set) var reportDeadline: Duration?
    private var isReportLate = false

    var holdsBack: Bool { !holding.isEmpty }

    /// Whether a report is due even without other writes.
    var isReportDue: Bool { isReportLate && !dropping.isEmpty }

    /// The buffer of an attached subscription has changed.
    mutating func changed(_ buffer: DeliveryBuffer, now: Duration) {
        if buffer.holdsBack { holding.insert(buffer.number) } else { holding.remove(buffer.number) }
        guard buffer.hasUnreportedDrops else { return }
        dropping.insert(buffer.number)
        if reportDeadline == nil { reportDeadline = now + Self.reportInterval }
    }

    /// Removes a subscription, which is being left.
    mutating func remove(_ number: UInt32) {
        holding.remove(number)
        dropping.remove(number)
    }

    mutating func timeReached(_ now: Duration) {
        guard let deadline = reportDeadline, deadline <= now else { return }
        reportDeadline = nil
        isReportLate = true
    }

    /// Returns the subscriptions whose drops are to be reported now, and resets the deadline.
    mutating func takeReports() -> Set<UInt32> {
        reportDeadline = nil
        isReportLate = false
        defer { dropping.removeAll() }
        return dropping
    }
}
