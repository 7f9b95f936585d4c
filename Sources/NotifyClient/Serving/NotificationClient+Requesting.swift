import NIOCore
import NotifyCenter
import NotifyWire

extension NotificationClient {
    /// Asks a server, and waits for its reply.
    ///
    /// Only clients that ``serve(_:concurrency:timeout:_:)-([String],_,_,_)`` the name are asked, and one of them gets the
    /// request. Requests are never stored. A cancellation of the task cancels the request.
    ///
    /// - Parameters:
    ///   - name: The name. This user must have the right to post it.
    ///   - payload: The content.
    ///   - headers: The headers.
    ///   - timeout: The time limit, which the daemon enforces: 1 millisecond to an hour.
    /// - Returns: The reply.
    /// - Throws: ``NotifyError``. The request was not executed in the case of `noResponders`, when no server serves the
    ///   name, `daemonClosing`, when the daemon is shutting down, `limitReached`, `forbidden`, and, because the client has
    ///   not sent it, `notConnected` and `timedOut`. It may have been executed in the case of `serverGone`, when the
    ///   server's connection has ended, `requestTimedOut`, and `outcomeUnknown`, and in that of `cancelled` if it was sent,
    ///   as the error's message says. `requestFailed` has the text of the server's error.
    public nonisolated(nonsending) func request(
        _ name: String, _ payload: some Collection<UInt8> = [UInt8](), headers: Headers = [:],
        timeout: Duration = .seconds(5)
    ) async throws(NotifyError) -> Reply {
        guard timeout >= .milliseconds(1), timeout <= Limits.maximumAskTimeout else {
            throw NotifyError(
                .invalidArgument,
                "the time limit of a request is 1 ms to \(Limits.maximumAskTimeout.text), not \(timeout.text)")
        }
        let request = AskRequest(
            name: try NotificationName(checking: name), payload: Array(payload), headers: try headers.encoded(),
            timeout: timeout)
        if core.isConnected, request.payload.count > core.maximumPayloadBytes {
            throw .payloadTooLarge(bytes: request.payload.count, limit: core.maximumPayloadBytes)
        }
        // If the daemon does not respond at all, the client's own time limit ends the request.
        return Reply(try await ask(request, timeout: timeout + core.configuration.requestTimeout))
    }

    /// Asks a server with a text as UTF-8, as ``request(_:_:headers:timeout:)-(_,Collection<UInt8>,_,_)`` does.
    public nonisolated(nonsending) func request(
        _ name: String, _ text: some StringProtocol, headers: Headers = [:], timeout: Duration = .seconds(5)
    ) async throws(NotifyError) -> Reply {
        try await request(name, Array(text.utf8), headers: headers, timeout: timeout)
    }
}

/// An ``Ask`` that owns its content.
struct AskRequest: RequestFrame {
    typealias Reply = ServiceReply

    var request: UInt64 = 0
    let name: NotificationName
    let payload: [UInt8]
    let headers: [UInt8]
    let timeout: Duration
    var isChange: Bool { true }
    var replyTime: ReplyTime { .unlimited }

    func writeCancellation(to buffer: inout ByteBuffer) { CancelAsk(request: request).write(to: &buffer) }

    init(name: NotificationName, payload: [UInt8], headers: [UInt8], timeout: Duration) {
        self.name = name
        self.payload = payload
        self.headers = headers
        self.timeout = timeout
    }

    func write(to buffer: inout ByteBuffer) {
        name.withUTF8 { name in
            headers.withUnsafeBytes { headers in
                payload.withUnsafeBytes { payload in
                    let none = UnsafeRawBufferPointer(start: nil, count: 0)
                    Ask(
                        request: request, timeoutMilliseconds: UInt32(timeout / .milliseconds(1)),
                        parts: MessageParts(
                            name: name, object: none, messageID: none, headers: headers, payload: payload)
                    ).append(to: &buffer)
                }
            }
        }
    }
}
