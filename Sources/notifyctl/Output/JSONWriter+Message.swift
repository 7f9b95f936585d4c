import FoundationEssentials
import NotifyClient

/// A message that a command prints as JSON, without its payload.
protocol DescribedMessage {
    /// 0 for a refused post.
    var sequence: UInt64 { get }
    var name: String { get }
    var object: String? { get }
    var timeMicroseconds: UInt64 { get }
    var uid: UInt32 { get }
    var gid: UInt32 { get }
    var pid: UInt32 { get }
    var headers: NotificationClient.Headers { get }
}

extension NotificationClient.Message: DescribedMessage {}
extension Administration.PostSummary: DescribedMessage {}

extension JSONWriter {
    /// Writes the members that describe a message: all but its payload.
    mutating func members(of message: some DescribedMessage) {
        optionalMember("sequence", message.sequence == 0 ? nil : message.sequence)
        member("name", message.name)
        member("object", message.object)
        member("time", Timestamp.text(microseconds: message.timeMicroseconds))
        member("uid", message.uid)
        member("gid", message.gid)
        member("pid", message.pid)
        member("headers", message.headers)
    }

    mutating func member(_ name: String, _ headers: NotificationClient.Headers) {
        key(name)
        write(headers)
    }

    /// Writes headers as an object.
    mutating func write(_ headers: NotificationClient.Headers) {
        object { json in
            for (key, value) in headers { json.member(key, value) }
        }
    }

    /// Writes a payload as text under `name` or, if it is not UTF-8, in base64 under `name` with the suffix `_base64`.
    mutating func member(_ name: String, text: String?, payload: @autoclosure () -> [UInt8]) {
        if let text {
            member(name, text)
        } else {
            member("\(name)_base64", Data(payload()).base64EncodedString())
        }
    }
}
