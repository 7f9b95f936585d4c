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

    static func table(_ rows: [DeadLetterRow], _ times: TimeStyle) -> Table {
        var table = Table([
            .number("SEQUENCE"), .text("DURABLE"), .time("TIME"), .text("NAME"), .text("REASON"),
            .number("DELIVERIES").wide, .text("OBJECT").wide,
        ])
        for row in rows {
            table.append([
                "\(row.sequence)", row.durable, times.text(row.date), row.name,
                row.reason.map { FailureReason.line($0) } ?? Table.unknown, "\(row.deliveries)",
                row.object ?? Table.none,
            ])
        }
        return table
    }

    /// The fields as lines of a title and a value.
    func text(_ times: TimeStyle) -> String {
        let rows = [
            ("sequence", "\(sequence)"), ("durable", durable), ("time", times.text(date)),
            ("deliveries", "\(deliveries)"), ("reason", reason ?? Table.unknown), ("name", name),
            ("object", object ?? Table.none), ("posted", times.text(originalDate)),
            ("posted as", "\(originalSequence)"),
            ("posted by", "process \(pid) of \(UserNames.name(of: uid) ?? "\(uid)")"),
        ]
        return rows.map { title, value in
            title + String(repeating: " ", count: 12 - title.count) + FailureReason.block(value, indent: 12) + "\n"
        }.joined()
    }
}

extension DeadLetterRow {
    init(_ letter: Administration.DeadLetter) {
        self.init(
            sequence: letter.sequence, durable: letter.durableName,
            date: Date(timeIntervalSince1970: Double(letter.message.timeMicroseconds) / 1_000_000),
            deliveries: letter.deliveries, reason: letter.reason, name: letter.name, object: letter.object,
            originalSequence: letter.originalSequence, originalDate: letter.originalDate, uid: letter.uid,
            pid: letter.pid)
    }
}
