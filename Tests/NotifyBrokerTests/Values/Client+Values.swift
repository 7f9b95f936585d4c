import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

extension Client {
    @discardableResult
    func setValue(
        _ name: String, object: String = "", _ payload: String = "", ifSequence: UInt64? = nil,
        _ durability: Durability = .stored, receipt: Bool = true
    ) -> UInt64 {
        let request = nextRequest()
        send(
            setValueFrame(
                request, name, object: object, payload: Array(payload.utf8), ifSequence: ifSequence, durability,
                receipt: receipt))
        return request
    }

    @discardableResult
    func announce(
        _ name: String, object: String = "", _ payload: String = "", headers: [UInt8] = [], will: String? = nil,
        grace: Duration = .zero, takesOver: Bool = false
    ) -> UInt64 {
        let request = nextRequest()
        send(
            announceFrame(
                request, name, object: object, headers: headers, payload: Array(payload.utf8),
                grace: grace, takesOver: takesOver, will: will.map { ([], Array($0.utf8)) }))
        return request
    }

    @discardableResult
    func withdraw(_ name: String, object: String = "", headers: [UInt8] = []) -> UInt64 {
        let request = nextRequest()
        send(Withdraw(request: request, name: name, object: object, headers: headers))
        return request
    }

    @discardableResult
    func clear(_ patterns: String..., object: String? = nil, ifSequence: UInt64? = nil) -> UInt64 {
        let request = nextRequest()
        send(ClearValues(request: request, ifSequence: ifSequence, object: object, patterns: patterns))
        return request
    }

    @discardableResult
    func readValues(
        _ patterns: String..., order: ReadValues.Order = .keys(after: 0, through: .max), object: String? = nil,
        epoch: UInt64 = 0, run: UInt64 = 0, maximum: UInt32 = 100
    ) -> UInt64 {
        let request = nextRequest()
        send(
            ReadValues(
                request: request, epoch: epoch, run: run, order, maximumMessages: maximum, object: object,
                patterns: patterns))
        return request
    }
}

/// A value, or a message that clears one, as a client reads it.
struct ReadValue: Equatable, CustomStringConvertible {
    var name: String
    var object = ""
    var payload: String
    var sequence: UInt64 = 0
    var cleared: String?
    var isEphemeral = false

    init(_ name: String, object: String = "", _ payload: String = "", cleared: String? = nil) {
        self.name = name
        self.object = object
        self.payload = payload
        self.cleared = cleared
    }

    init(_ message: ReceivedMessage) {
        name = message.name
        object = message.object
        payload = message.text
        sequence = message.sequence
        cleared = message.headers.withUnsafeBytes { ClearedHeader.reason(in: $0) }
        isEphemeral = message.headers.withUnsafeBytes { EphemeralHeader.isPresent(in: $0) }
    }

    /// The value without its sequence.
    var content: ReadValue { ReadValue(name, object: object, payload, cleared: cleared) }
    var description: String { "\(name)\(object.isEmpty ? "" : "/" + object)=\(cleared ?? payload)" }
}

/// What a client has received for its requests about values.
struct ValueAnswers {
    var receipts: [UInt64: Receipt] = [:]
    var errors: [UInt64: ErrorFrame] = [:]
    var pages: [UInt64: (page: ValuePage, values: [ReadValue])] = [:]
    /// The messages of each page, as they were received.
    var pageMessages: [UInt64: [ReceivedMessage]] = [:]
    var cleared: [UInt64: ValuesCleared] = [:]
    var announced: [UInt64: Announced] = [:]
    /// The messages of subscriptions.
    var messages: [ReadValue] = []

    init(_ client: Client) {
        var rest: (request: UInt64, count: UInt32) = (0, 0)
        for frame in client.take() {
            switch frame {
            case .receipt(let receipt): receipts[receipt.request] = receipt
            case .error(let error): errors[error.request] = error
            case .valuesCleared(let frame): cleared[frame.request] = frame
            case .announced(let frame): announced[frame.request] = frame
            case .valuePage(let page):
                pages[page.request] = (page, [])
                rest = (page.request, page.count)
            case .message(let message) where rest.count > 0:
                rest.count -= 1
                pages[rest.request]?.values.append(ReadValue(message))
                pageMessages[rest.request, default: []].append(message)
            case .message(let message): messages.append(ReadValue(message))
            default: break
            }
        }
    }
}

extension TestHost {
    /// The values that match, read by key in one page by a new client.
    func values(_ patterns: String..., object: String? = nil, uid: UInt32 = 1000) -> [ReadValue] {
        let client = connect(uid: uid)
        defer { closed(client) }
        let request = client.nextRequest()
        client.send(ReadValues(request: request, object: object, patterns: patterns))
        run()
        let answers = ValueAnswers(client)
        #expect(answers.pages[request]?.page.isEnd == true)
        return answers.pages[request]?.values.map(\.content) ?? []
    }
}
