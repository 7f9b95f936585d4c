import NotifyWire
import WireTestSupport

/// A well-behaved client that sets, gets and clears values of its own, and announces and ends others, one request at a
/// time.
///
/// It measures the elapsed time of each answer, and checks that a value that is read is always the last one that was
/// set.
final class ValueProbe {
    /// What is measured separately.
    enum Kind: String, CaseIterable {
        /// Values of names without wildcards.
        case get
        /// The values of a pattern with a wildcard.
        case page
        /// Values that are set or announced.
        case set
        /// Values that are cleared or withdrawn, or whose connection is closed.
        case end

        /// The description of the slowest answer.
        var title: String {
            switch self {
            case .get: "a value"
            case .page: "all values of a pattern"
            case .set: "the setting of a value"
            case .end: "the end of a value"
            }
        }
    }

    private enum Step: CaseIterable {
        case set, get, page, clear, getCleared
        case announce, getAnnounced, withdraw, getWithdrawn
        case connect, announceLast, close
    }

    private static let names = 8
    /// The least time from one request to the next, so that the probe adds little work.
    private static let interval = Duration.milliseconds(5)

    private let socket: String
    private let connection: Connection
    /// The connection of a value that ends with it; nil while there is none.
    private var announcer: Connection?
    private var step = Step.set
    private var isWaiting = false
    private var begin = ContinuousClock.now
    /// The number of the round, which is the payload of its values.
    private var round: UInt64 = 0
    /// The payload of each value.
    private var present: [String: UInt64] = [:]
    /// The values of the pages so far, and the number of deliver frames that are still to come.
    private var (read, missing): ([String: UInt64], Int) = ([:], 0)
    private var page: ValuePage?
    private var lastKey = UInt64.max
    /// The number of answers that were not as expected.
    private(set) var wrong = 0
    /// The message of the last error from the daemon.
    private(set) var refusal: String?
    private(set) var slowest: [Kind: Duration] = [:]

    init(_ socket: String) throws {
        self.socket = socket
        connection = try Connection(socket)
        connection.onFrame = { [unowned self] kind, body in received(kind, body) }
    }

    var connections: [Connection] { [connection] + (announcer.map { [$0] } ?? []) }

    /// The number of complete rounds.
    var rounds: Int { Int(round) }

    /// The results by name.
    var figures: [(name: String, value: Double)] {
        [("valueRounds", Double(rounds)), ("wrongValues", Double(wrong))]
            + Kind.allCases.map { ($0.rawValue, (slowest[$0] ?? .zero) / .milliseconds(1)) }
    }

    /// Sends the next request when it is due and the last one is answered.
    func proceed() {
        guard !isWaiting, ContinuousClock.now - begin >= Self.interval else { return }
        isWaiting = true
        begin = .now
        send()
        for connection in connections { connection.flush() }
    }

    /// Counts a request that is still unanswered, with its duration so far.
    func finish() {
        if isWaiting { note() }
        if connections.contains(where: { !$0.isOpen }) { wrong += 1 }
    }

    // MARK: Requests

    private var setName: String { name(round) }
    private var clearedName: String { name(round + UInt64(Self.names / 2)) }
    private let announcedName = "innocent.announced"

    private func name(_ number: UInt64) -> String { "innocent.values.n\(number % UInt64(Self.names))" }

    private var payload: [UInt8] { withUnsafeBytes(of: round.littleEndian) { Array($0) } }

    private func send() {
        let request = connection.newRequest()
        switch step {
        case .set:
            present[setName] = round
            connection.write(setValueFrame(request, setName, payload: payload))
        case .clear: connection.write(ClearValues(request: request, object: "", patterns: [clearedName]))
        case .announce:
            present[announcedName] = round
            connection.write(announceFrame(request, announcedName, payload: payload))
        case .withdraw: connection.write(Withdraw(request: request, name: announcedName))
        case .connect: connect()
        case .announceLast:
            present[announcedName] = round
            if let announcer { announcer.write(announceFrame(announcer.newRequest(), announcedName, payload: payload)) }
        case .close:
            announcer = nil
            startReading()
        case .get, .page, .getCleared, .getAnnounced, .getWithdrawn: startReading()
        }
    }

    private func connect() {
        do {
            let connection = try Connection(socket)
            connection.onFrame = { [unowned self] kind, body in received(kind, body) }
            announcer = connection
        } catch {
            refusal = "\(error)"
            wrong += 1
        }
    }

    private func startReading() {
        (read, lastKey) = ([:], .max)
        readPage(after: 0)
    }

    private var pattern: String {
        switch step {
        case .get: setName
        case .getCleared: clearedName
        case .page: "innocent.values.*"
        default: announcedName
        }
    }

    private func readPage(after key: UInt64) {
        connection.write(
            ReadValues(
                request: connection.newRequest(), .keys(after: key, through: lastKey), object: "", patterns: [pattern]))
        connection.flush()
    }

    // MARK: Answers

    private func received(_ kind: UInt8, _ body: UnsafeRawBufferPointer) {
        if let error = ErrorFrame(kind: kind, body) {
            refusal = error.message
            return answered(isExpected: false)
        }
        switch (FrameKind(rawValue: kind), step) {
        case (.valuePage, _): received(body)
        case (.deliver, _): deliver(body)
        case (.receipt, .set), (.announced, .announce), (.announced, .announceLast), (.welcome, .connect): answered()
        case (.valuesCleared, .clear): cleared(body, clearedName)
        case (.valuesCleared, .withdraw): cleared(body, announcedName)
        case (.welcome, _): break
        default: wrong += 1
        }
    }

    private func cleared(_ body: UnsafeRawBufferPointer, _ name: String) {
        var reader = FieldReader(body)
        let answer = try? ValuesCleared(flags: 0, reading: &reader)
        let old = present.removeValue(forKey: name)
        answered(isExpected: answer?.count == (old == nil ? 0 : 1))
    }

    private func received(_ body: UnsafeRawBufferPointer) {
        var reader = FieldReader(body)
        guard let header = try? ValuePage(flags: 0, reading: &reader) else { return answered(isExpected: false) }
        page = header
        missing = Int(header.count)
        if lastKey == .max { lastKey = header.lastKey }
        if missing == 0 { pageReceived() }
    }

    private func deliver(_ body: UnsafeRawBufferPointer) {
        guard missing > 0, let parts = try? Delivery(reading: body).parts, parts.payload.count == 8 else {
            wrong += 1
            return
        }
        read[String(decoding: parts.name, as: UTF8.self)] = UInt64(
            littleEndian: parts.payload.loadUnaligned(as: UInt64.self))
        missing -= 1
        if missing == 0 { pageReceived() }
    }

    private func pageReceived() {
        guard let page else { return answered(isExpected: false) }
        guard page.isEnd else { return readPage(after: page.through) }
        if step == .close { return endRead() }
        let pattern = pattern
        let expected = present.filter { name, _ in step == .page ? name.contains(".values.") : name == pattern }
        answered(isExpected: read == expected)
    }

    /// Reads the value of the closed connection again until it has ended.
    private func endRead() {
        guard !read.isEmpty else {
            present[announcedName] = nil
            return answered()
        }
        if read[announcedName] != present[announcedName] { return answered(isExpected: false) }
        startReading()
    }

    private func answered(isExpected: Bool = true) {
        if !isExpected { wrong += 1 }
        note()
        isWaiting = false
        let steps = Step.allCases
        let next = (steps.firstIndex(of: step) ?? 0) + 1
        step = steps[next % steps.count]
        if next == steps.count { round += 1 }
    }

    private func note() {
        let kind = kind
        slowest[kind] = max(slowest[kind] ?? .zero, ContinuousClock.now - begin)
    }

    private var kind: Kind {
        switch step {
        case .get, .getCleared, .getAnnounced, .getWithdrawn: .get
        case .page: .page
        case .set, .announce, .connect, .announceLast: .set
        case .clear, .withdraw, .close: .end
        }
    }
}
