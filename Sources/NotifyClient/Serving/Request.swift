import NIOCore
import NotifyWire

extension NotificationClient {
    /// A request that a server answers, with the time and the asker's ids that the daemon added.
    public struct Request: Sendable {
        /// The name of the request, such as `jobs.status`.
        public let name: String
        /// The headers, in the asker's order.
        public let headers: Headers
        /// The content.
        public let payload: [UInt8]
        /// The time at which the daemon received the request, in microseconds since 1970-01-01T00:00:00Z.
        public let timeMicroseconds: UInt64
        /// The uid of the asker, as reported by the kernel to the daemon.
        public let uid: UInt32
        /// The gid of the asker, as reported by the kernel to the daemon.
        public let gid: UInt32
        /// The pid of the asker, as reported by the kernel when that process connected to the daemon.
        public let pid: UInt32
        /// The time left for the reply when the daemon handed the request over. Then the asker gets `requestTimedOut`,
        /// and the task of the handler is cancelled.
        public let timeout: Duration

        /// The payload as text; `nil` if it is not valid UTF-8.
        public var text: String? { String(validating: payload, as: UTF8.self) }

        /// Makes a request as if it had been received, for example in a test.
        public init(
            name: String, payload: some Collection<UInt8> = [UInt8](), headers: Headers = [:],
            timeMicroseconds: UInt64 = 0, uid: UInt32 = 0, gid: UInt32 = 0, pid: UInt32 = 0,
            timeout: Duration = .seconds(5)
        ) {
            self.name = name
            self.payload = Array(payload)
            self.headers = headers
            self.timeMicroseconds = timeMicroseconds
            self.uid = uid
            self.gid = gid
            self.pid = pid
            self.timeout = timeout
        }

        init(_ call: ServiceCall) {
            // The daemon has checked the headers, so decoding does not fail.
            let headers = call.parts.headers.isEmpty ? [] : (try? HeaderList.decode(call.parts.headers)) ?? []
            self.init(
                name: String(decoding: call.parts.name, as: UTF8.self), payload: call.parts.payload,
                headers: Headers(headers), timeMicroseconds: call.stamp.timeMicroseconds, uid: call.stamp.uid,
                gid: call.stamp.gid, pid: call.stamp.pid, timeout: .milliseconds(call.timeoutMilliseconds))
        }
    }

    /// The response of a server to a ``Request``.
    public struct Response: Sendable, ExpressibleByStringLiteral {
        /// The content; any bytes.
        public var payload: [UInt8]
        /// The headers.
        public var headers: Headers

        /// Makes a response, by default an empty one. An array is not copied.
        public init(_ payload: some Collection<UInt8> = [UInt8](), headers: Headers = [:]) {
            self.payload = Array(payload)
            self.headers = headers
        }

        /// Makes a response of a text as UTF-8.
        public init(_ text: some StringProtocol, headers: Headers = [:]) {
            self.init(Array(text.utf8), headers: headers)
        }

        /// Makes a response of a text as UTF-8.
        public init(stringLiteral text: String) {
            self.init(text)
        }

        /// Makes a response of a value as JSON.
        ///
        /// - Throws: ``NotifyError`` with `coding` if the value can't be encoded.
        public init(json value: some Encodable, headers: Headers = [:]) throws(NotifyError) {
            self.init(try encodeJSON(value), headers: headers)
        }
    }

    /// The reply to a request: the response of a server, with the server's ids that the daemon added.
    public struct Reply: Sendable {
        /// The headers, in the server's order.
        public let headers: Headers
        /// The content.
        public let payload: [UInt8]
        /// The uid of the server, as reported by the kernel to the daemon.
        public let uid: UInt32
        /// The gid of the server, as reported by the kernel to the daemon.
        public let gid: UInt32
        /// The pid of the server, as reported by the kernel when that process connected to the daemon.
        public let pid: UInt32

        /// The payload as text; `nil` if it is not valid UTF-8.
        public var text: String? { String(validating: payload, as: UTF8.self) }

        /// Makes a reply, for example in a test.
        public init(
            payload: some Collection<UInt8> = [UInt8](), headers: Headers = [:], uid: UInt32 = 0, gid: UInt32 = 0,
            pid: UInt32 = 0
        ) {
            self.payload = Array(payload)
            self.headers = headers
            self.uid = uid
            self.gid = gid
            self.pid = pid
        }

        init(_ frame: ServiceReply) {
            // The daemon has checked the headers, so decoding does not fail.
            let headers = frame.headers.withUnsafeReadableBytes { $0.isEmpty ? [] : (try? HeaderList.decode($0)) ?? [] }
            self.init(
                payload: frame.payload.readableBytesView, headers: Headers(headers), uid: frame.uid, gid: frame.gid,
                pid: frame.pid)
        }
    }

    /// An error that a handler of ``serve(_:concurrency:timeout:_:)-([String],_,_,_)`` throws to choose the outcome of its request.
    public struct RequestError: Error, Hashable, Sendable, CustomStringConvertible {
        let isReturned: Bool
        /// The text for the asker.
        public let description: String

        /// The request failed: the asker gets `requestFailed` with this text.
        public static func failed(_ text: String) -> RequestError {
            RequestError(isReturned: false, description: text)
        }

        /// The handler has done nothing for the request: another server gets it.
        public static let giveBack = RequestError(isReturned: true, description: "the request was given back")
    }
}
