import NotifyWire
import Testing
import WireTestSupport

@Suite struct RejectingTests {
    private let span = DurableSettingChanges.maximumSpan

    private func code<Frame: ControlFrame>(_ frame: Frame) -> ErrorCode? {
        do {
            _ = try Frame.decode(frame.encoded)
            return nil
        } catch {
            return (error as? WireError)?.code
        }
    }

    @Test func `a delay is accepted up to its limit, and the highest number stands for none`() throws {
        for delay in [0, span - 1, span] as [UInt64] {
            #expect(code(Reject(subscription: 1, sequence: 2, delayMicroseconds: delay)) == nil)
        }
        for delay in [span + 1, UInt64.max - 1] {
            #expect(code(Reject(subscription: 1, sequence: 2, delayMicroseconds: delay)) == .invalidArgument)
        }
        let highest = Reject(subscription: 1, sequence: 2, delayMicroseconds: .max)
        #expect(try Reject.decode(highest.encoded).delayMicroseconds == nil)
    }

    @Test(arguments: [(1279, true), (1280, true), (1281, false)])
    func `a reason is accepted up to its limit`(_ count: Int, _ isAccepted: Bool) {
        let reject = Reject(subscription: 1, sequence: 2, reason: String(repeating: "r", count: count))
        #expect(code(reject) == (isAccepted ? nil : .invalidArgument))
    }

    @Test(arguments: [(1023, true), (1024, true), (1025, false)])
    func `sequences are accepted up to their limit`(_ count: UInt64, _ isAccepted: Bool) {
        #expect(code(Extend(subscription: 1, sequences: Array(1...count))) == (isAccepted ? nil : .limitReached))
        let letters = DeadLetters(request: 1, action: .retry, sequences: Array(1...count))
        #expect(code(letters) == (isAccepted ? nil : .limitReached))
    }

    @Test func `a deadline is extended up to its limit`() {
        #expect(code(Extend(subscription: 1, sequences: [1], microseconds: span)) == nil)
        #expect(code(Extend(subscription: 1, sequences: [1], microseconds: span + 1)) == .invalidArgument)
    }

    @Test(arguments: [[2, 1], [1, 1], [0]] as [[UInt64]])
    func `sequences of dead letters that do not ascend, and sequence 0, are refused`(_ sequences: [UInt64]) {
        #expect(code(DeadLetters(request: 1, action: .purge, sequences: sequences)) == .invalidArgument)
    }

    @Test(arguments: UInt8.min ... .max)
    func `every outcome and action is decoded or refused`(_ kind: UInt8) throws {
        var reject = Reject(subscription: 1, sequence: 2).encoded
        reject[8 + 4] = kind
        var letters = DeadLetters(request: 1, action: .retry).encoded
        letters[8 + 12] = kind
        if let outcome = Reject.Outcome(rawValue: kind) {
            #expect(try Reject.decode(reject).outcome == outcome)
        } else {
            #expect(#expect(throws: WireError.self) { try Reject.decode(reject) }?.code == .unsupported)
        }
        if let action = DeadLetters.Action(rawValue: kind) {
            #expect(try DeadLetters.decode(letters).action == action)
        } else {
            #expect(#expect(throws: WireError.self) { try DeadLetters.decode(letters) }?.code == .unsupported)
        }
    }
}
