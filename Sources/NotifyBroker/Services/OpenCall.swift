import NIOCore
import NotifyWire

/// A request to a server that is not answered yet, or that its server still holds.
struct OpenCall {
    enum State: Equatable {
        /// The call waits for a server with room.
        case waiting
        /// A server holds the call.
        case handed(ServerID)
        /// A server holds the call, but the response is not awaited any more: the asker has cancelled the request or has
        /// disconnected, or the time limit has passed.
        case abandoned(ServerID)
    }

    /// The request of the asker.
    let request: RequestID
    let uid: UInt32
    let deadline: Duration
    /// The memory that is charged to the asker's user, in bytes.
    let byteCount: Int
    /// The encoded ``ServiceCall``. Kept while a server holds the call, because the server may return it. Empty once the
    /// call is abandoned.
    var frame: ByteBuffer
    var state = State.waiting
    /// The user whose services the call was sent to. Queues of other users' services may still contain the call.
    var servedBy: UInt32?
    /// The servers that have returned the call. It is not handed to them again.
    var returnedBy: [ServerID] = []

    /// The number of servers that may return a call. After that many, it has no responder.
    static let maximumReturns = 16

    /// The memory of a call without its frame, in bytes. Charged to the server's user once the call is abandoned.
    static let fixedBytes = 512

    /// The memory of a call with a frame that may wait for some services, in bytes. Charged to the asker's user.
    static func byteCount(_ frame: ByteBuffer, services: Int) -> Int {
        fixedBytes + frame.storageCapacity + services * 2 * MemoryLayout<CallID>.stride
    }

    /// The server that holds the call; nil while it waits.
    var server: ServerID? {
        switch state {
        case .waiting: nil
        case .handed(let server), .abandoned(let server): server
        }
    }

    /// Whether the call waits for a server of the user.
    func waits(for user: UInt32) -> Bool { state == .waiting && servedBy == user }

    /// Whether the asker waits for the answer.
    var isAwaited: Bool {
        if case .abandoned = state { false } else { true }
    }
}
