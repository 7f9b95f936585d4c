import Foundation
import NotifyBroadcast
import TestSupport
import Testing

@Suite struct CallTests {
    private final class Office: OrderEvents {
        let journal: Journal
        init(_ journal: Journal) { self.journal = journal }
        func orderCreated(_ number: Int, at shop: String) { journal.note("created \(number) at \(shop)") }
        func orderPaid(_ number: Int?) { journal.note("paid \(number.map(String.init) ?? "none")") }
        func closed() throws { throw Failure(name: "closed") }
    }

    private let journal = Journal()

    private func text(_ call: OrderEventsCall) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(call), as: UTF8.self)
    }

    private func decode(_ text: String) throws -> OrderEventsCall {
        try JSONDecoder().decode(OrderEventsCall.self, from: Data(text.utf8))
    }

    @Test func `a call is named after its method or its topic`() throws {
        let created = #"{"arguments":[42,"north"],"name":"orderCreated(_:at:)"}"#
        #expect(try text(.orderCreated(42, at: "north")) == created)
        #expect(try text(.orderPaid(nil)) == #"{"arguments":[null],"name":"orders.paid"}"#)
        #expect(OrderEventsCall.closed.name == "closed()")
    }

    @Test func `a decoded call is dispatched to the receivers`() throws {
        let orders = OrderEventsBroadcaster()
        let office = Office(journal)
        orders.register(office)
        for call in [OrderEventsCall.orderCreated(42, at: "north"), .orderPaid(7), .orderPaid(nil)] {
            try orders.dispatch(decode(text(call)))
        }
        #expect(journal.take() == ["created 42 at north", "paid 7", "paid none"])
        let error = #expect(throws: BroadcastError.self) { try orders.dispatch(decode(#"{"name":"closed()"}"#)) }
        #expect(error?.code == .receiversThrew)
    }

    @Test func `an unknown call name is an error`() {
        let error = #expect(throws: BroadcastError.self) { try decode(#"{"name":"orderLost(_:)","arguments":[1]}"#) }
        #expect(error?.code == .unknownCall)
        #expect(error?.message == "OrderEvents has no call named 'orderLost(_:)'")
    }

    @Test(arguments: ["{}", #"{"name":7}"#, "[]", #""closed()""#])
    func `JSON that is not a call is refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try decode(text) }
    }

    @Test(arguments: [
        (#"{"name":"orders.paid"}"#, "argument 1 of 'orders.paid' can't be decoded as Optional<Int>"),
        (
            #"{"name":"orderCreated(_:at:)","arguments":[]}"#,
            "argument 1 of 'orderCreated(_:at:)' can't be decoded as Int"
        ),
        (
            #"{"name":"orderCreated(_:at:)","arguments":[1]}"#,
            "argument 2 of 'orderCreated(_:at:)' can't be decoded as String"
        ),
        (
            #"{"name":"orderCreated(_:at:)","arguments":[1,2]}"#,
            "argument 2 of 'orderCreated(_:at:)' can't be decoded as String"
        ),
        (
            #"{"name":"orders.paid","arguments":["one"]}"#,
            "argument 1 of 'orders.paid' can't be decoded as Optional<Int>"
        ),
        (#"{"name":"orders.paid","arguments":7}"#, "argument 1 of 'orders.paid' can't be decoded as Optional<Int>"),
        (#"{"name":"orders.paid","arguments":[1,2]}"#, "'orders.paid' has more than 1 arguments"),
        (#"{"name":"closed()","arguments":[1]}"#, "'closed()' has more than 0 arguments"),
    ])
    func `arguments of a wrong type or number are errors`(_ text: String, _ message: String) {
        let error = #expect(throws: BroadcastError.self) { try decode(text) }
        #expect(error?.code == .wrongArguments)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [#"{"name":"closed()"}"#, #"{"name":"closed()","arguments":[]}"#])
    func `a call without arguments needs no argument list`(_ text: String) throws {
        #expect(try decode(text).name == "closed()")
    }

    @Test func `typealiases of the protocol and duplicate labels are supported`() throws {
        final class Map: PlaceEvents {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func moved(to place: Place, to other: Place?) { journal.note("\(place) \(other ?? [:])") }
        }
        let map = Map(journal)
        let places = PlaceEventsBroadcaster()
        places.register(map)
        let call = PlaceEventsCall.moved(to: ["x": 1], ["y": 2])
        #expect(call.name == "moved(to:to:)")
        places.dispatch(try JSONDecoder().decode(PlaceEventsCall.self, from: JSONEncoder().encode(call)))
        #expect(journal.take() == [#"["x": 1] ["y": 2]"#])
    }
}
