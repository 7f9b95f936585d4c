/// Back-pressure and drop reports of the subscriptions' buffers.
struct FlowControl {
    /// Drops are reported with other writes, and else after this time.
    static let reportInterval = Duration.milliseconds(100)

    /// Subscriptions whose buffers ask for a pause in reading.
    private var holding: Set<UInt32> = []
    /// Subscriptions with drops that were not reported.
    private(set) var dropping: Set<UInt32> = []
    /// When they are to be reported at the latest.
    private(set) var reportDeadline: Duration?
    private var isReportLate = false

    var holdsBack: Bool { !holding.isEmpty }

    /// Whether a report cannot wait for other writes any more.
    var isReportDue: Bool { isReportLate && !dropping.isEmpty }

    /// The buffer of an attached subscription has changed.
    mutating func changed(_ buffer: DeliveryBuffer, now: Duration) {
        if buffer.holdsBack { holding.insert(buffer.number) } else { holding.remove(buffer.number) }
        guard buffer.hasUnreportedDrops else { return }
        dropping.insert(buffer.number)
        if reportDeadline == nil { reportDeadline = now + Self.reportInterval }
    }

    /// The subscription is left: its consumer takes nothing any more.
    mutating func remove(_ number: UInt32) {
        holding.remove(number)
        dropping.remove(number)
    }

    mutating func timeReached(_ now: Duration) {
        guard let deadline = reportDeadline, deadline <= now else { return }
        reportDeadline = nil
        isReportLate = true
    }

    /// Takes the subscriptions whose drops are to be reported now.
    mutating func takeReports() -> Set<UInt32> {
        reportDeadline = nil
        isReportLate = false
        defer { dropping.removeAll() }
        return dropping
    }
}
