import NotifyWire
import WireTestSupport

extension RawClient {
    /// Sends a post that sets a value, and returns the request number.
    @discardableResult
    func send(
        value payload: String, for name: String, object: String = "", ifSequence: UInt64? = nil
    ) throws -> UInt64 {
        let request = newRequest()
        try send(
            setValueFrame(request, name, object: object, payload: Array(payload.utf8), ifSequence: ifSequence))
        return request
    }

    /// Sets a value, and waits for the receipt.
    @discardableResult
    func setValue(
        _ payload: String, for name: String, object: String = "", ifSequence: UInt64? = nil
    ) throws -> Receipt {
        try receipt(of: send(value: payload, for: name, object: object, ifSequence: ifSequence))
    }

    @discardableResult
    func clear(_ patterns: String..., object: String? = nil, ifSequence: UInt64? = nil) throws -> ValuesCleared {
        let request = newRequest()
        try send(ClearValues(request: request, ifSequence: ifSequence, object: object, patterns: patterns))
        return try answer(to: request, "cleared") { if case .valuesCleared(let it) = $0 { it } else { nil } }
    }

    func announce(_ payload: String, for name: String, grace: Duration = .zero) throws {
        let request = newRequest()
        try send(announceFrame(request, name, payload: Array(payload.utf8), grace: grace))
        _ = try answer(to: request, "announced") { if case .announced(let it) = $0 { it } else { nil } }
    }

    /// All values that match, in the order of their keys.
    func values(_ patterns: String..., object: String? = nil) throws -> [ReceivedMessage] {
        var messages: [ReceivedMessage] = []
        var (after, through): (UInt64, UInt64) = (0, .max)
        while true {
            let (page, values) = try readValues(patterns, .keys(after: after, through: through), object: object)
            messages += values
            (after, through) = (page.through, after == 0 ? page.lastKey : through)
            if page.isEnd { return messages }
        }
    }

    /// Reads one page of values or changes. The connection must have no subscription.
    func readValues(
        _ patterns: [String], _ order: ReadValues.Order, object: String? = nil, epoch: UInt64 = 0
    ) throws -> (page: ValuePage, values: [ReceivedMessage]) {
        let request = newRequest()
        try send(ReadValues(request: request, epoch: epoch, order, object: object, patterns: patterns))
        let page = try answer(to: request, "values") { if case .valuePage(let page) = $0 { page } else { nil } }
        return (page, try (0..<page.count).map { _ in try message() })
    }
}
