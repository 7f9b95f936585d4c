import NIOCore
@testable import NotifyBroker
import NotifyWire
import WireTestSupport

/// A client of the broker, with a simulated socket.
final class Client: OutputSink {
    let id: ConnectionID
    private unowned let host: TestHost
    private var reader = OutputReader()
    private(set) var inbox: [Received] = []
    /// The number of bytes that the socket still accepts. One write may exceed this number.
    var room = Int.max
    /// The unread bytes in the socket.
    var socketBytes = 0
    var isClosed = false
    private(set) var isRead = true
    /// Sent bytes that the broker has not consumed.
    private var unread: [UInt8] = []
    private var lastRequest: UInt64 = 0

    init(id: ConnectionID, host: TestHost) {
        self.id = id
        self.host = host
    }

    // MARK: Receiving

    var hasRoom: Bool { room > 0 && !isClosed }
    var isBlocked: Bool { !hasRoom }

    func write(_ bytes: ByteBuffer) {
        room -= room == .max ? 0 : bytes.readableBytes
        inbox += reader.read(bytes)
    }

    /// Returns the frames received since the last call.
    func take() -> [Received] {
        defer { inbox = [] }
        return inbox
    }

    /// Returns the messages received since the last call. Other frames are dropped.
    func takeMessages() -> [ReceivedMessage] {
        take().compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    /// Returns the errors received since the last call. Other frames are dropped.
    func takeErrors() -> [ErrorFrame] {
        take().compactMap { if case .error(let error) = $0 { error } else { nil } }
    }

    /// Makes the socket accept more bytes.
    func makeRoom(_ bytes: Int = .max) {
        room = bytes
        host.connectionWritable(self)
    }

    func stopTaking() { room = 0 }

    func flush() { host.flushed(self) }

    func closeWhenFlushed() { host.closed(self) }

    // MARK: Sending

    func send(_ frame: some ControlFrame) { send(frame.encoded) }

    func send(_ bytes: [UInt8]) {
        unread += bytes
        guard isRead, !isClosed else { return }
        unread.removeFirst(host.received(unread, from: id))
    }

    /// Processes the rest of the sent bytes. Called when the scheduler selects this client.
    func continueSending() {
        unread.removeFirst(host.received(unread, from: id))
    }

    /// Sends bytes that arrive in several reads, and shuts down the client's sending direction. The host reads all
    /// bytes, even while reading is paused.
    func endInput(after bytes: [UInt8] = [], readBytes: Int = 64 << 10) {
        for start in stride(from: 0, to: bytes.count, by: readBytes) {
            unread += bytes[start..<min(start + readBytes, bytes.count)]
            unread.removeFirst(host.received(unread, from: id))
        }
        host.core.broker.inputEnded(id, now: host.now)
    }

    func setReading(_ isRead: Bool) {
        self.isRead = isRead
        if isRead { send([]) }
    }

    func nextRequest() -> UInt64 {
        lastRequest += 1
        return lastRequest
    }

    @discardableResult
    func post(
        _ name: String, object: String = "", headers: [UInt8] = [], payload: [UInt8] = [],
        _ durability: Durability = .automatic, receipt: Bool = true
    ) -> UInt64 {
        let request = nextRequest()
        send(
            postFrame(
                request, name: Array(name.utf8), object: Array(object.utf8), headers: headers, payload: payload,
                durability, receipt: receipt))
        return request
    }

    @discardableResult
    func subscribe(
        _ number: UInt32, _ patterns: [String], object: String = "", durable: String = "",
        from start: LogPosition = .now, window: UInt32 = 0, credit: UInt32 = Subscribe.unlimitedCredit,
        sharing: DurableSharing = .exclusive, takesOver: Bool = false,
        settings: DurableSettingChanges = DurableSettingChanges()
    ) -> UInt64 {
        let request = nextRequest()
        send(
            Subscribe(
                request: request, subscription: number, patterns: patterns, object: object, durableName: durable,
                start: start, window: window, credit: credit, sharing: sharing, takesOver: takesOver,
                settings: settings))
        return request
    }

    func reject(
        _ number: UInt32, _ sequence: UInt64, _ outcome: Reject.Outcome = .failed, delay: Duration? = nil,
        delivery: UInt32 = 0, reason: String = ""
    ) {
        send(
            Reject(
                subscription: number, sequence: sequence, outcome: outcome,
                delayMicroseconds: delay.map { UInt64($0 / .microseconds(1)) }, delivery: delivery, reason: reason))
    }

    func extend(_ number: UInt32, _ sequences: UInt64..., by span: Duration = .zero) {
        send(
            Extend(subscription: number, sequences: sequences, microseconds: UInt64(span / .microseconds(1))))
    }

    @discardableResult
    func detach(_ number: UInt32) -> UInt64 {
        let request = nextRequest()
        send(Detach(request: request, subscription: number))
        return request
    }

    @discardableResult
    func remove(_ name: String, uid: UInt32 = Remove.ownUID) -> UInt64 {
        let request = nextRequest()
        send(Remove(request: request, uid: uid, durableName: name))
        return request
    }

    func acknowledge(_ number: UInt32, _ ranges: ClosedRange<UInt64>...) {
        send(
            Acknowledge(
                subscription: number,
                ranges: ranges.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound) }))
    }

    // MARK: Requests to servers

    @discardableResult
    func serve(_ number: UInt32, _ patterns: [String], concurrency: UInt32 = 1) -> UInt64 {
        let request = nextRequest()
        send(Serve(request: request, server: number, concurrency: concurrency, patterns: patterns))
        return request
    }

    @discardableResult
    func endServing(_ number: UInt32) -> UInt64 {
        let request = nextRequest()
        send(EndServing(request: request, server: number))
        return request
    }

    @discardableResult
    func ask(
        _ name: String, headers: [UInt8] = [], payload: [UInt8] = [], timeout: Duration = .seconds(5)
    ) -> UInt64 {
        let request = nextRequest()
        send(askFrame(request, name, headers: headers, payload: payload, timeout: timeout))
        return request
    }

    func respond(
        _ call: UInt64, _ outcome: Respond.Outcome = .replied, headers: [UInt8] = [], payload: [UInt8] = []
    ) {
        send(respondFrame(call, outcome, headers: headers, payload: payload))
    }

    /// Returns the calls received since the last call. Other frames are dropped.
    func takeCalls() -> [ReceivedServiceCall] {
        take().compactMap { if case .serviceCall(let call) = $0 { call } else { nil } }
    }

    @discardableResult
    func ping() -> UInt64 {
        let request = nextRequest()
        send(Ping(request: request))
        return request
    }
}

extension InstanceID {
    /// Returns a new random id.
    static func next() -> InstanceID { .random() }
}
