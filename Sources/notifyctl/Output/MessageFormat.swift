import FoundationEssentials
import NotifyClient

/// How `subscribe` shows a message.
enum MessageFormat {
    /// The payload.
    case payload
    /// The name, a space, and the payload.
    case nameAndPayload
    /// One JSON object.
    case json

    /// Appends the message and a newline.
    func append(_ message: NotifyClient.Message, to bytes: inout [UInt8]) {
        switch self {
        case .payload:
            message.withPayload { bytes.append(contentsOf: $0) }
        case .nameAndPayload:
            bytes.append(contentsOf: "\(message.name)".utf8)
            bytes.append(UInt8(ascii: " "))
            message.withPayload { bytes.append(contentsOf: $0) }
        case .json:
            bytes.append(contentsOf: Self.json(message))
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func json(_ message: NotifyClient.Message) -> [UInt8] {
        var json = JSONText()
        json.object { json in
            json.member("seq", message.sequence)
            json.member("name", "\(message.name)")
            json.member("object", message.object)
            json.member("time", Timestamp.text(microseconds: message.timeMicroseconds))
            json.member("uid", message.uid)
            json.member("gid", message.gid)
            json.member("pid", message.pid)
            json.key("headers")
            json.object { json in
                for (key, value) in message.headers { json.member(key, value) }
            }
            json.member("redelivered", message.isRedelivered)
            if let text = message.text {
                json.member("payload", text)
            } else {
                json.member("payload_base64", Data(message.payload).base64EncodedString())
            }
        }
        return json.bytes
    }
}
