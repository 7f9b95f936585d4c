import FoundationEssentials
import NotifyClient

/// How `subscribe` prints a message.
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
    /// How the field `{time}` of a template is printed.
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

    /// Replaces control characters except newlines and tabs, and bytes that are not UTF-8.
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
            json.member("sequence", message.sequence)
            json.member("name", message.name)
            json.member("object", message.object)
            json.member("time", Timestamp.text(microseconds: message.timeMicroseconds))
            json.member("uid", message.uid)
            json.member("gid", message.gid)
            json.member("pid", message.pid)
            json.key("headers")
            Self.append(message.headers, to: &json)
            json.member("redelivered", message.isRedelivered)
            json.member("snapshot", message.isSnapshot)
            if let text = message.text {
                json.member("payload", text)
            } else {
                json.member("payload_base64", Data(message.payload).base64EncodedString())
            }
        }
        return json.bytes
    }

    /// Headers as one JSON object.
    static func json(_ headers: NotificationClient.Headers) -> [UInt8] {
        var json = JSONWriter()
        append(headers, to: &json)
        return json.bytes
    }

    /// Writes headers as an object.
    static func append(_ headers: NotificationClient.Headers, to json: inout JSONWriter) {
        json.object { json in
            for (key, value) in headers { json.member(key, value) }
        }
    }
}
