import NotifyClient

/// Prints the receipts of `post`.
struct ReceiptPrinter: Sendable {
    enum Format: Sendable {
        case nothing
        case text
        case json
    }

    let name: String
    let format: Format

    func append(_ receipt: NotificationClient.Receipt, to bytes: inout [UInt8]) {
        switch format {
        case .nothing: break
        case .text:
            let reached =
                "durability=\(receipt.durability) subscribers=\(receipt.subscribers) durables=\(receipt.stored)"
            bytes.append(contentsOf: "posted \(name) sequence=\(receipt.sequence) \(reached)\n".utf8)
        case .json:
            var json = JSONWriter()
            json.object { json in
                json.member("name", name)
                json.member("sequence", receipt.sequence)
                json.member("durability", receipt.durability.rawValue)
                json.member("subscribers", receipt.subscribers)
                json.member("durables", receipt.stored)
            }
            bytes.append(contentsOf: json.bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    /// The notice that a message was neither received nor stored.
    ///
    /// - Parameter requested: The durability of the post.
    /// - Returns: The notice; nil if a subscriber received the message, or if it was stored.
    static func notice(
        _ receipt: NotificationClient.Receipt, requested: NotificationClient.Durability
    ) -> String? {
        guard receipt.subscribers == 0, receipt.durability == .volatile else { return nil }
        let reason =
            requested == .volatile
            ? "--durability volatile never stores"
            : "no durable subscription matches; --durability stored keeps it in the log"
        return "no subscriber received the message, and it was not stored: \(reason)"
    }
}
