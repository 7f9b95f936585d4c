/// The state of a view that takes the whole screen and is updated until the user quits. Handles keys and reports, and
/// makes frames.
protocol LiveState: Sendable {
    /// The request to the daemon.
    associatedtype Request: Equatable, Sendable
    /// The answer to a request.
    associatedtype Report: Sendable

    typealias Effect = LiveEffect<Request>

    /// The maximum time between two requests; nil for no limit.
    var longestInterval: Duration? { get }

    /// Must be called after each interval. Requests a report, unless a request is pending.
    mutating func intervalPassed() -> Effect?

    mutating func reportReceived(_ report: Report) -> Effect?

    /// Must be called when the daemon can't be reached.
    mutating func requestFailed(_ message: String)

    mutating func keyPressed(_ key: Key) -> Effect?

    /// The content of a screen of this size.
    mutating func frame(for screen: Screen) -> Frame
}

/// The action of the caller after an event.
enum LiveEffect<Request: Equatable & Sendable>: Equatable, Sendable {
    case request(Request)
    case quit
}
