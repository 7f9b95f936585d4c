import NotifyClient

/// The format of printed messages.
struct MessageFormat: Sendable {
    enum Content: Sendable {
        /// The payload.
        case payload
        /// The name, a space, and the payload.
        case nameAndPayload
        /// One JSON object.
        case json
        /// The template of `--format`, filled in.
        case template(FormatTemplate)
    }

    var content: Content
    /// The byte that ends a message, if any.
    var terminator: UInt8?
    /// Whether control characters of messages are replaced, because they could change the terminal that shows them.
    var replacesControls = false
    /// The style of the field `{time}` of a template.
    var times = TimeStyle.exact

    /// Appends the message and the terminator.
    func append(_ message: NotificationClient.Message, to bytes: inout [UInt8]) {
        switch content {
        case .payload:
            appendPayload(message, to: &bytes)
        case .nameAndPayload:
            let start = bytes.count
            bytes.append(contentsOf: message.name.utf8)
            if replacesControls { Self.replaceControls(in: &bytes, from: start) }
            bytes.append(UInt8(ascii: " "))
            appendPayload(message, to: &bytes)
        case .json:
            bytes.append(contentsOf: Self.json(message))
        case .template(let template):
            template.append(message, to: &bytes, replacesControls: replacesControls, times: times)
        }
        if let terminator { bytes.append(terminator) }
    }

    private func appendPayload(_ message: NotificationClient.Message, to bytes: inout [UInt8]) {
        let start = bytes.count
        message.withPayload { bytes.append(contentsOf: $0) }
        if replacesControls { Self.replaceControls(in: &bytes, from: start) }
    }

    /// Replaces bytes that are not UTF-8, and characters that could change the terminal, except newlines and tabs.
    static func replaceControls(in bytes: inout [UInt8], from start: Int) {
        let text = bytes[start...]
        if text.allSatisfy({ 0x20..<0x7F ~= $0 || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\t") }) { return }
        let printable = Table.printable(String(decoding: text, as: UTF8.self), keeping: ["\n", "\t"])
        bytes.replaceSubrange(start..., with: printable.utf8)
    }

    /// One JSON object with all fields of a message.
    static func json(_ message: NotificationClient.Message) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.members(of: message)
            json.member("redelivered", message.isRedelivered)
            if let reason = message.clearedReason { json.member("cleared", reason) }
            json.member("payload", text: message.text, payload: message.payload)
        }
        return json.bytes
    }

    /// Headers as one JSON object.
    static func json(_ headers: NotificationClient.Headers) -> [UInt8] {
        var json = JSONWriter()
        json.write(headers)
        return json.bytes
    }
}
