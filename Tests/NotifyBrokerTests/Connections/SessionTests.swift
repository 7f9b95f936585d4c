@testable import NotifyBroker
import NotifyWire
import Testing

struct SessionTests {
    private static let deadline = Duration.seconds(10)
    private static let closing = Duration.seconds(12)

    private static func session(in name: String) -> Session {
        var session = Session(greetingDeadline: deadline)
        switch name {
        case "open": session.greeted()
        case "draining":
            session.greeted()
            session.drainBegan()
        case "closing": session.failed(closingDeadline: closing)
        default: break
        }
        return session
    }

    @Test func `a new session waits for hello`() {
        var session = Session(greetingDeadline: Self.deadline)
        #expect(session.deadline == Self.deadline)
        #expect(session.frameReceived(kind: FrameKind.hello.rawValue) == .greet)
        session.greeted()
        #expect(session.state == .open)
        #expect(session.deadline == nil)
    }

    @Test(arguments: 0...UInt8.max)
    func `a new session accepts only hello`(_ kind: UInt8) {
        let action = Self.session(in: "greeting").frameReceived(kind: kind)
        if kind == FrameKind.hello.rawValue {
            #expect(action == .greet)
        } else {
            guard case .fail(let error) = action else {
                Issue.record("kind \(kind): \(action)")
                return
            }
            #expect(error.code == .greetingExpected)
        }
    }

    @Test(arguments: 0...UInt8.max)
    func `an open session handles requests and refuses other frames`(_ raw: UInt8) {
        let action = Self.session(in: "open").frameReceived(kind: raw)
        switch FrameKind(rawValue: raw) {
        case .hello?:
            guard case .fail(let error) = action else {
                Issue.record("a second hello: \(action)")
                return
            }
            #expect(error.code == .malformedFrame)
        case let kind? where !kind.isFromDaemon:
            #expect(action == .handle(kind))
        default:
            guard case .refuse(let error) = action else {
                Issue.record("kind \(raw): \(action)")
                return
            }
            #expect(error.code == .unknownFrame)
        }
    }

    @Test(arguments: ["draining", "closing"], [UInt8(1), 2, 3, 8, 0x41, 0xFF])
    func `a draining or closing session ignores all frames`(_ state: String, _ kind: UInt8) {
        #expect(Self.session(in: state).frameReceived(kind: kind) == .ignore)
    }

    @Test func `request numbers must increase`() throws {
        var session = Self.session(in: "open")
        #expect(throws: WireError.self) { try session.requestReceived(0) }
        try session.requestReceived(1)
        try session.requestReceived(5)
        for late: UInt64 in [5, 4, 0] {
            let error = #expect(throws: WireError.self) { try session.requestReceived(late) }
            #expect(error?.code == .invalidArgument)
        }
        #expect(session.lastRequest == 5)
        try session.requestReceived(.max)
        #expect(session.lastRequest == .max)
    }

    @Test(arguments: ["open", "draining", "closing"])
    func `a late greeting has no effect`(_ state: String) {
        var session = Self.session(in: state)
        session.greeted()
        #expect(session == Self.session(in: state))
    }

    @Test func `draining begins once, and not after a failure`() {
        for state in ["greeting", "open", "draining"] {
            var session = Self.session(in: state)
            session.drainBegan()
            #expect(session.state == .draining, "\(state)")
            #expect(session.deadline == nil)
        }
        var closing = Self.session(in: "closing")
        closing.drainBegan()
        #expect(closing.isClosing)
    }

    @Test func `the first failure sets the deadline`() {
        for state in ["greeting", "open", "draining"] {
            var session = Self.session(in: state)
            session.failed(closingDeadline: Self.closing)
            #expect(session.isClosing)
            #expect(session.deadline == Self.closing)
            session.failed(closingDeadline: Self.closing + .seconds(5))
            #expect(session.deadline == Self.closing, "\(state)")
        }
    }
}
