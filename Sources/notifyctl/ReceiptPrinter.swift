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

    func append(_ receipt: NotifyClient.Receipt, to bytes: inout [UInt8]) {
        switch format {
        case .nothing: break
        case .text:
            let line =
                "posted \(name) sequence=\(receipt.sequence) subscribers=\(receipt.subscribers) stored=\(receipt.stored)\n"
            bytes.append(contentsOf: line.utf8)
        case .json:
            var json = JSONWriter()
            json.object { json in
                json.member("name", name)
                json.member("sequence", receipt.sequence)
                json.member("subscribers", receipt.subscribers)
                json.member("stored", receipt.stored)
                json.member("durability", receipt.durability.rawValue)
            }
            bytes.append(contentsOf: json.bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
    }
}
