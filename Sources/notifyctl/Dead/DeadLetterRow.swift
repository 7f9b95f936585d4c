import FoundationEssentials
import NotifyClient

/// A dead letter without its payload and headers, so that a long list takes little memory.
struct DeadLetterRow: Sendable {
    var sequence: UInt64
    var durable: String
    var date: Date
    var deliveries: Int
    var reason: String?
    var name: String
    var object: String?
    var originalSequence: UInt64
    var originalDate: Date
    var uid: UInt32
    var pid: UInt32

    func write(to json: inout JSONWriter) {
        json.member("sequence", sequence)
        json.member("durable", durable)
        json.member("time", Timestamp.text(date))
        json.member("deliveries", deliveries)
        json.member("reason", reason)
        json.member("name", name)
        json.member("object", object)
        json.member("original_sequence", originalSequence)
        json.member("original_time", Timestamp.text(originalDate))
        json.member("uid", uid)
        json.member("pid", pid)
    }

    static func table(_ rows: [DeadLetterRow]) -> Table {
        var table = Table([
            .number("SEQUENCE"), .text("DURABLE"), .text("TIME"), .number("DELIVERIES"), .text("NAME"), .text("OBJECT"),
            .text("REASON"),
        ])
        for row in rows {
            table.append([
                "\(row.sequence)", row.durable, Timestamp.seconds(row.date), "\(row.deliveries)", row.name,
                row.object ?? Table.none, row.reason ?? Table.unknown,
            ])
        }
        return table
    }

    /// The fields as lines of a title and a value.
    var text: String {
        let rows = [
            ("sequence", "\(sequence)"), ("durable", durable), ("time", Timestamp.text(date)),
            ("deliveries", "\(deliveries)"), ("reason", reason ?? Table.unknown), ("name", name),
            ("object", object ?? Table.none), ("posted", Timestamp.text(originalDate)),
            ("posted as", "\(originalSequence)"),
            ("posted by", "process \(pid) of \(UserNames.name(of: uid) ?? "\(uid)")"),
        ]
        return rows.map { title, value in
            title + String(repeating: " ", count: 12 - title.count) + Table.printable(value) + "\n"
        }.joined()
    }
}

extension DeadLetterRow {
    init(_ letter: NotifyClient.DeadLetter) {
        self.init(
            sequence: letter.sequence, durable: letter.durableName,
            date: Date(timeIntervalSince1970: Double(letter.message.timeMicroseconds) / 1_000_000),
            deliveries: letter.deliveries, reason: letter.reason, name: letter.name, object: letter.object,
            originalSequence: letter.originalSequence, originalDate: letter.originalDate, uid: letter.uid,
            pid: letter.pid)
    }
}
