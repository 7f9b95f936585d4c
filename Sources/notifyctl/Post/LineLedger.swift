import DequeModule
import NotifyClient

/// A line of the input of `post --lines`.
struct InputLine: Equatable, Sendable {
    /// The number of the line, counted from 1.
    var number: Int
    var payload: [UInt8]
}

/// The outcomes of the lines of `post --lines`. Decides whether posting continues.
struct LineLedger: Sendable {
    /// The maximum number of invalid lines that are reported one by one.
    static let reportedInvalidLines = 10

    /// The first error that stops the posting.
    struct Failure: Sendable {
        var line: Int
        var error: NotifyError
    }

    private var inFlight: Deque<InputLine> = []
    /// The number of lines with a receipt, and how many of them are stored.
    private(set) var posted = 0
    private(set) var stored = 0
    /// The number of lines that reached no subscriber and were not stored.
    private(set) var unreached = 0
    private(set) var invalid = 0
    /// The lines that are known not to be posted, in order.
    private(set) var refused: [InputLine] = []
    private(set) var unknown = LineRanges()
    /// The number of posted lines that were sent again after a later line was posted.
    private(set) var reordered = 0
    /// The highest number of a posted line.
    private var lastPosted = 0
    private(set) var failure: Failure?
    private var isInterrupted = false

    /// Records that an interruption has stopped the client. Later errors are its consequence, and do not count as
    /// `failure`.
    mutating func interrupted() {
        isInterrupted = true
    }

    /// Records that the lines were passed to the client.
    mutating func submitted(_ lines: [InputLine]) {
        inFlight.append(contentsOf: lines)
    }

    /// Records the outcome of the first submitted line without an outcome.
    ///
    /// - Returns: The report about an invalid line; nil for other lines, and after `reportedInvalidLines` reports.
    mutating func received(_ outcome: NotificationClient.PostPipeline.Outcome) -> String? {
        guard let line = inFlight.popFirst() else { return nil }
        switch outcome {
        case .success(let receipt):
            posted += 1
            if line.number < lastPosted { reordered += 1 }
            lastPosted = max(lastPosted, line.number)
            if receipt.durability != .volatile {
                stored += 1
            } else if receipt.subscribers == 0 {
                unreached += 1
            }
        case .failure(let error) where error.code == .payloadTooLarge:
            invalid += 1
            return invalid <= Self.reportedInvalidLines ? "line \(line.number): \(error.message)" : nil
        case .failure(let error):
            if error.isKnownRefusal { refused.append(line) } else { unknown.append(line.number) }
            if !isInterrupted { failure = failure ?? Failure(line: line.number, error: error) }
        }
        return nil
    }

    /// Records that no further outcome will be received.
    ///
    /// - Parameter wasConnected: Whether the client has ever been connected. If not, no line was sent.
    mutating func abandon(wasConnected: Bool) {
        if wasConnected {
            for line in inFlight { unknown.append(line.number) }
        } else {
            refused.append(contentsOf: inFlight)
        }
        inFlight.removeAll()
    }

    /// Whether the lines that were not posted may be sent again, in order: the daemon refuses for now or can't be
    /// reached, and the outcome of every line is known.
    var isRetryable: Bool {
        guard let failure, unknown.isEmpty else { return false }
        return [.refusedForNow, .noDaemon].contains(ExitStatus(failure.error))
    }

    /// Takes the lines to send again.
    mutating func takeRefused() -> [InputLine] {
        defer { (refused, failure) = ([], nil) }
        return refused
    }

    /// Records that lines which `takeRefused` has returned were not sent again.
    mutating func notSentAgain(_ lines: [InputLine]) {
        refused.append(contentsOf: lines)
    }

    // MARK: The result

    /// The status of the command.
    var status: ExitStatus {
        if !unknown.isEmpty { return .failure }
        if let failure { return ExitStatus(failure.error) }
        if !refused.isEmpty { return .failure }
        return invalid > 0 ? .invalidData : .success
    }

    /// The numbers of lines by outcome, as one line without a period.
    ///
    /// - Parameter next: The number of the first line that was never passed to the client; nil if no such line is
    ///   known.
    func summary(next: Int?) -> String {
        let missed = unreached > 0 ? ", \(unreached) neither stored nor received by anyone" : ""
        var parts = ["posted \(Self.lines(posted)) (\(stored) stored\(missed))"]
        if reordered > 0 { parts.append("\(reordered) of them after later lines") }
        if invalid > 0 { parts.append("\(invalid) invalid") }
        if !refused.isEmpty {
            parts.append("\(refused.count) not posted (\(LineRanges(refused.map(\.number))))")
        }
        if let next { parts.append("none from line \(next) on") }
        if !unknown.isEmpty { parts.append("unknown for \(unknown.count) (\(unknown))") }
        return parts.joined(separator: ", ")
    }

    private static func lines(_ count: Int) -> String { "\(count) \(count == 1 ? "line" : "lines")" }
}

/// Numbers of lines in ascending order, as ranges.
struct LineRanges: Equatable, Sendable, CustomStringConvertible {
    /// The maximum number of ranges in the text.
    private static let shown = 4

    private var ranges: [ClosedRange<Int>] = []
    private(set) var count = 0

    init(_ numbers: [Int] = []) {
        for number in numbers { append(number) }
    }

    var isEmpty: Bool { ranges.isEmpty }

    mutating func append(_ number: Int) {
        count += 1
        if let last = ranges.last, last.upperBound + 1 == number {
            ranges[ranges.count - 1] = last.lowerBound...number
        } else {
            ranges.append(number...number)
        }
    }

    /// The text, such as `line 5` or `lines 1 to 3, 7`.
    var description: String {
        var texts = ranges.prefix(Self.shown).map { range in
            range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
        }
        if ranges.count > Self.shown { texts.append("…") }
        return (count == 1 ? "line " : "lines ") + texts.joined(separator: ", ")
    }
}

extension NotifyError {
    /// Whether it is certain that the request was not executed.
    fileprivate var isKnownRefusal: Bool {
        switch code {
        case .outcomeUnknown, .connectionLost, .cancelled: false
        // The client uses `stopped` only for posts that it has not sent.
        case .notConnected, .noDaemon, .timedOut, .stopped: true
        default: isRefusal
        }
    }
}
