import NIOCore
package import NotifyWire

extension ControlFrame {
    /// The encoded frame.
    package var encoded: [UInt8] {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// Decodes one complete frame, which must be of this kind.
    package static func decode(_ bytes: [UInt8]) throws -> Self {
        try withFrame(bytes) { try Self($0) }
    }
}

package struct NoFrame: Error {
    package init() {}
}

/// Calls `body` with the only frame in `bytes`.
package func withFrame<Result>(_ bytes: [UInt8], _ body: (FrameDecoder.Frame) throws -> Result) throws -> Result {
    try bytes.withUnsafeBytes { bytes in
        guard let frame = try FrameDecoder(maximumBodyBytes: 1 << 26).next(in: bytes), frame.size == bytes.count else {
            throw NoFrame()
        }
        return try body(frame)
    }
}

/// Returns a frame of any kind with this body. The frame is invalid if `length` differs from the length of the body.
package func rawFrame(_ kind: UInt8, flags: UInt8 = 0, length: UInt32? = nil, _ body: [UInt8] = []) -> [UInt8] {
    let length = length ?? UInt32(body.count)
    return (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + [kind, flags, 0, 0] + body
}

/// Returns a complete post frame.
package func postFrame(
    _ request: UInt64, name: [UInt8], object: [UInt8] = [], messageID: [UInt8] = [], headers: [UInt8] = [],
    payload: [UInt8] = [], _ durability: Durability = .automatic, receipt: Bool = true
) -> [UInt8] {
    var buffer = ByteBuffer()
    withParts(name: name, object: object, messageID: messageID, headers: headers, payload: payload) { parts in
        Post(request: request, durability: durability, wantsReceipt: receipt, parts: parts).append(to: &buffer)
    }
    return Array(buffer.readableBytesView)
}

/// Calls `body` with message parts that are valid during the call.
package func withParts<Result>(
    name: [UInt8], object: [UInt8] = [], messageID: [UInt8] = [], headers: [UInt8] = [], payload: [UInt8] = [],
    _ body: (MessageParts) throws -> Result
) rethrows -> Result {
    try name.withUnsafeBytes { name in
        try object.withUnsafeBytes { object in
            try messageID.withUnsafeBytes { messageID in
                try headers.withUnsafeBytes { headers in
                    try payload.withUnsafeBytes { payload in
                        try body(
                            MessageParts(
                                name: name, object: object, messageID: messageID, headers: headers, payload: payload))
                    }
                }
            }
        }
    }
}

/// Calls `body` with message parts that are valid during the call. Texts are encoded as UTF-8.
package func withParts<Result>(
    name: String = "a.b", object: String = "", messageID: String = "", headers: [UInt8] = [], payload: [UInt8] = [],
    _ body: (MessageParts) throws -> Result
) rethrows -> Result {
    try withParts(
        name: Array(name.utf8), object: Array(object.utf8), messageID: Array(messageID.utf8), headers: headers,
        payload: payload, body)
}

/// Returns a complete frame that sets a value.
package func setValueFrame(
    _ request: UInt64, _ name: String, object: String = "", headers: [UInt8] = [], payload: [UInt8] = [],
    ifSequence: UInt64? = nil, _ durability: Durability = .stored, receipt: Bool = true
) -> [UInt8] {
    var buffer = ByteBuffer()
    Array(name.utf8).withUnsafeBytes { name in
        Array(object.utf8).withUnsafeBytes { object in
            headers.withUnsafeBytes { headers in
                payload.withUnsafeBytes { payload in
                    let parts = MessageParts(
                        name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
                        headers: headers, payload: payload)
                    let post = Post(request: request, durability: durability, wantsReceipt: receipt, parts: parts)
                    SetValue(post, ifSequence: ifSequence).append(to: &buffer)
                }
            }
        }
    }
    return Array(buffer.readableBytesView)
}

/// Returns a complete frame that announces a value.
package func announceFrame(
    _ request: UInt64, _ name: String, object: String = "", headers: [UInt8] = [], payload: [UInt8] = [],
    grace: Duration = .zero, takesOver: Bool = false, will: (headers: [UInt8], payload: [UInt8])? = nil
) -> [UInt8] {
    var buffer = ByteBuffer()
    withParts(name: name, object: object, headers: headers, payload: payload) { parts in
        (will?.headers ?? []).withUnsafeBytes { willHeaders in
            (will?.payload ?? []).withUnsafeBytes { willPayload in
                Announce(
                    request: request, graceMilliseconds: UInt32(grace / .milliseconds(1)), takesOver: takesOver,
                    parts: parts,
                    will: will == nil ? nil : Announce.Will(headers: willHeaders, payload: willPayload)
                ).append(to: &buffer)
            }
        }
    }
    return Array(buffer.readableBytesView)
}

/// Returns a complete frame of a request to a server.
package func askFrame(
    _ request: UInt64, _ name: String, headers: [UInt8] = [], payload: [UInt8] = [], timeout: Duration = .seconds(5)
) -> [UInt8] {
    var buffer = ByteBuffer()
    Array(name.utf8).withUnsafeBytes { name in
        headers.withUnsafeBytes { headers in
            payload.withUnsafeBytes { payload in
                let none = UnsafeRawBufferPointer(start: nil, count: 0)
                Ask(
                    request: request, timeoutMilliseconds: UInt32(timeout / .milliseconds(1)),
                    parts: MessageParts(name: name, object: none, messageID: none, headers: headers, payload: payload)
                ).append(to: &buffer)
            }
        }
    }
    return Array(buffer.readableBytesView)
}

/// Returns a complete frame of a server's response.
package func respondFrame(
    _ call: UInt64, _ outcome: Respond.Outcome = .replied, headers: [UInt8] = [], payload: [UInt8] = []
) -> [UInt8] {
    var buffer = ByteBuffer()
    headers.withUnsafeBytes { headers in
        payload.withUnsafeBytes { payload in
            Respond(call: call, outcome: outcome, headers: headers, payload: payload).append(to: &buffer)
        }
    }
    return Array(buffer.readableBytesView)
}
