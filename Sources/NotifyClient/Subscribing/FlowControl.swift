/// Back-pressure and drop reports of the subscriptions' buffers.
struct FlowControl {
    /// The maximum delay of a drop report. A report is sent with the next write, or after this time.
    static let reportInterval = Duration.milliseconds(100)

    /// Subscriptions whose buffers pause reading.
    private var pausing: Set<UInt32> = []
    /// Subscriptions with unreported drops.
    private(set) var unreported: Set<UInt32> = []
    /// The latest time at which to report the drops.
    private(set) var reportDeadline: Duration?
    private var isReportOverdue = false

    var pausesReading: Bool { !pausing.isEmpty }

    /// Whether a report is due even without other writes.
    var isReportDue: Bool { isReportOverdue && !unreported.isEmpty }

    /// Must be called when the buffer of an attached subscription has changed.
    mutating func changed(_ buffer: DeliveryBuffer, now: Duration) {
        if buffer.pausesReading { pausing.insert(buffer.number) } else { pausing.remove(buffer.number) }
        guard buffer.hasUnreportedDrops else { return }
        unreported.insert(buffer.number)
        if reportDeadline == nil { reportDeadline = now + Self.reportInterval }
    }

    /// Removes a subscription that is being left.
    mutating func remove(_ number: UInt32) {
        pausing.remove(number)
        unreported.remove(number)
    }

    mutating func timeReached(_ now: Duration) {
        guard let deadline = reportDeadline, deadline <= now else { return }
        reportDeadline = nil
        isReportOverdue = true
    }

    /// Returns the subscriptions whose drops must be reported now, and resets the deadline.
    mutating func takeReports() -> Set<UInt32> {
        reportDeadline = nil
        isReportOverdue = false
        defer { unreported.removeAll() }
        return unreported
    }
}
