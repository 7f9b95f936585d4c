import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyClient

/// A watch of all values with the cursor of the client library. Compares its events with the log.
final class ModelWatch {
    /// What the watch has shown last of a name and object.
    struct State {
        let sequence: UInt64
        /// Nil if the value is cleared.
        var payload: String?
        let isEphemeral: Bool
    }

    /// How often a watch has taken each of its ways.
    struct Counts {
        var (marks, resets, announcedResets, continuations) = (0, 0, 0, 0)
        /// The pages of values by key that were requested because changes were faster than the pages.
        var readsBehind = 0

        mutating func add(_ other: Counts) {
            marks += other.marks
            resets += other.resets
            announcedResets += other.announcedResets
            continuations += other.continuations
            readsBehind += other.readsBehind
        }
    }

    private let log: FakeStore
    private var cursor: ValueCursor
    /// The request that has no answer yet.
    private var outstanding: ReadValues?
    /// The position of the last mark.
    private var position: NotificationClient.ValuePosition?
    /// The state of each name and object.
    private(set) var state: [String: State] = [:]
    /// The payloads of all events.
    private(set) var shown: Set<String> = []
    private(set) var counts = Counts()

    init(log: FakeStore) throws {
        self.log = log
        cursor = try ValueCursor([">"], object: nil, isWatch: true)
    }

    var isReading: Bool { outstanding != nil }
    /// Whether the first values were read.
    private(set) var isMarked = false
    /// The last sequence of the log when the values were read from the beginning.
    private var beginning: UInt64 = 0
    /// Whether the watch shows again what has changed since the position at which it continues.
    private var isRepeating = false
    /// The present values as the watch has shown them.
    var values: [String: State] { state.filter { $0.value.payload != nil } }

    // MARK: Requests

    /// Requests the next page, unless one is requested already.
    func read(_ client: Client, maximum: UInt32) {
        guard outstanding == nil else { return }
        var request = cursor.request
        request.request = client.nextRequest()
        request.maximumMessages = maximum
        if case .keys(after: 0, through: .max) = request.order { beginning = log.messages.last?.sequence ?? 0 }
        if isMarked, case .keys(_, ReadValues.lastStoredKey) = request.order { counts.readsBehind += 1 }
        client.send(request)
        outstanding = request
    }

    /// Makes the next request repeat the one without an answer.
    func connectionEnded() { outstanding = nil }

    func refused(_ request: UInt64) {
        if outstanding?.request == request { outstanding = nil }
    }

    /// Continues as another program does that has kept the position and the stored values. What has changed since the
    /// position is shown again.
    func continueFromPosition() throws {
        guard let position else { return }
        cursor = try ValueCursor([">"], object: nil, isWatch: true, from: position)
        state = state.filter { !$0.value.isEphemeral }
        (isMarked, isRepeating) = (false, true)
        counts.continuations += 1
    }

    // MARK: Events

    /// Shows the events of the page that answers the outstanding request.
    func receive(_ answers: ValueAnswers) {
        guard let request = outstanding, let (page, _) = answers.pages[request.request] else { return }
        outstanding = nil
        if page.isAnnouncedReset { counts.announcedResets += 1 }
        for event in cursor.received(ReceivedPage(page, answers.pageMessages[page.request] ?? [])) { show(event) }
        if case .changes(let after, _, _) = cursor.request.order { checkNothingIsMissing(through: after) }
    }

    private func show(_ event: NotificationClient.ValueEvent) {
        switch event {
        case .value(let message): show(message)
        case .cleared(let message): showCleared(message)
        case .upToDate(let mark):
            #expect(!isMarked, "a watch has two marks")
            (isMarked, isRepeating, position) = (true, false, mark)
            counts.marks += 1
            checkNothingIsMissingAtMark()
        case .reset:
            (isMarked, isRepeating, position, state) = (false, false, nil, [:])
            counts.resets += 1
        case .damaged: Issue.record("a watch shows damage")
        }
    }

    private func show(_ message: NotificationClient.Message) {
        let (key, payload) = (message.key, message.text ?? "")
        #expect(message.clearedReason == nil, "a clear is shown as a value")
        if let known = state[key] {
            // An announced value that was forgotten is shown again if it is still present.
            let isAgain = isRepeating || message.isEphemeral && known.isEphemeral && known.payload == nil
            #expect(
                message.sequence > known.sequence || (isAgain && message.sequence == known.sequence),
                "a watch shows \(message.sequence) of \(key) after \(known.sequence)")
        }
        if !message.isEphemeral {
            #expect(
                log.hasMessage(message.sequence, key, payload: payload), "a watch shows a value that is not committed")
        }
        shown.insert(payload)
        state[key] = State(sequence: message.sequence, payload: payload, isEphemeral: message.isEphemeral)
    }

    private func showCleared(_ message: NotificationClient.Message) {
        let key = message.key
        let isStored = message.clearedReason == ClearedHeader.Reason.cleared.rawValue
        if let known = state[key] {
            // The end of an announced value that was forgotten has the sequence of the value.
            let isEnd = isRepeating || !isStored && known.isEphemeral && known.payload != nil
            #expect(
                message.sequence > known.sequence || (isEnd && message.sequence == known.sequence),
                "a watch shows the clear \(message.sequence) of \(key) after \(known.sequence)")
        }
        if isStored {
            #expect(log.hasMessage(message.sequence, key), "a watch shows a clear that is not committed")
        } else {
            #expect(state[key]?.payload != nil, "a watch shows the end of an announced value that it has not shown")
        }
        state[key] = State(sequence: message.sequence, payload: nil, isEphemeral: !isStored)
    }

    /// Expects that the watch has shown the last change of each stored value that was not changed after a sequence.
    private func checkNothingIsMissing(through sequence: UInt64) {
        for (key, message) in lastMessages() where message.sequence <= sequence {
            let known = state[key]
            if let known, known.sequence >= message.sequence { continue }
            // A watch that begins after a clear does not show it.
            if message.isClear, known?.payload == nil { continue }
            Issue.record("a watch at \(sequence) shows \(known?.sequence ?? 0) of \(key), not \(message.sequence)")
        }
    }

    /// Expects that the watch has shown each stored value that was present from its beginning to its mark.
    private func checkNothingIsMissingAtMark() {
        let cleared = Set(log.messages.filter { $0.sequence > beginning && $0.isClear }.map(\.key))
        for (key, message) in lastMessages(through: beginning) where !message.isClear && !cleared.contains(key) {
            #expect(state[key] != nil, "the mark of a watch is before \(key)")
        }
    }

    /// The last message of each name and object up to a sequence.
    private func lastMessages(through sequence: UInt64 = .max) -> [String: FakeStore.Message] {
        var last: [String: FakeStore.Message] = [:]
        for message in log.messages where message.sequence <= sequence { last[message.key] = message }
        return last
    }
}

extension NotificationClient.Message {
    fileprivate var key: String { "\(name)/\(object ?? "")" }
}

extension ReceivedPage {
    /// Makes a page as the connection of a client does.
    fileprivate init(_ header: Header, _ messages: [ReceivedMessage]) {
        self.init(header)
        for message in messages {
            var buffer = ByteBuffer()
            withParts(
                name: message.name, object: message.object, headers: message.headers, payload: message.payload
            ) { _ = Delivery.append(message.stamp, $0, to: &buffer) }
            let length = buffer.readableBytes - FrameHeader.size
            append(
                MessageBatch(
                    bytes: Array(buffer.readableBytesView),
                    entries: [.init(offset: UInt32(FrameHeader.size), length: UInt32(length), isRedelivered: false)],
                    byteCount: buffer.readableBytes))
        }
    }
}

extension FakeStore {
    /// Whether the log has a message with this sequence, name and object, and with this payload if one is passed.
    func hasMessage(_ sequence: UInt64, _ key: String, payload: String? = nil) -> Bool {
        messages.contains {
            $0.sequence == sequence && $0.key == key && (payload == nil || $0.payload == payload)
        }
    }
}

extension FakeStore.Message {
    /// The name and object.
    var key: String {
        "\(String(decoding: name, as: UTF8.self))/\(String(decoding: object, as: UTF8.self))"
    }

    /// Whether the message clears a value.
    var isClear: Bool {
        withDelivery { ClearedHeader.reason(in: $0.parts.headers) } != nil
    }

    fileprivate var payload: String? {
        withDelivery { String(decoding: $0.parts.payload, as: UTF8.self) }
    }

    private func withDelivery<Result>(_ body: (Delivery) -> Result?) -> Result? {
        frame.withUnsafeBytes { bytes in (try? Delivery(reading: bytes.slice(from: FrameHeader.size))).flatMap(body) }
    }
}
