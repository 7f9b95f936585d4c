import NotifyLog
import NotifyStore
import NotifySystem
import NotifyWire

/// The check and the repair of a database that no daemon uses, as text for the user.
package enum DatabaseCheck {
    /// The most lines of one kind.
    private static let maximumLines = 32

    /// Checks a database; by default the configured one.
    ///
    /// - Throws: ``ServerError`` or `StoreError` if it can't be checked.
    package static func run(
        _ file: String?, options: CommandLineOptions
    ) throws -> (text: String, isSound: Bool) {
        let check = try FileCheck.run(path: try path(file, options))
        return (text(of: check).joined(separator: "\n"), check.findings.isSound)
    }

    /// Writes the sound rows of a database, by default the configured one, to a new database.
    ///
    /// - Throws: ``ServerError`` or `StoreError` if nothing was written.
    package static func repair(_ file: String?, to newPath: String?, options: CommandLineOptions) throws -> String {
        try text(of: FileRepair.run(path: try path(file, options), to: newPath)).joined(separator: "\n")
    }

    private static func path(_ file: String?, _ options: CommandLineOptions) throws -> String {
        if let file { return file }
        let context = ProcessContext.takeFromProcess()
        let sources = ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
        return try sources.load().databasePath
    }

    // MARK: Text

    private static func text(of check: FileCheck) -> [String] {
        var lines = ["\(check.path): a log of notifyd with the schema \(check.version)"]
        let findings = check.findings
        lines.append(checked(check))
        if check.hasReadRows { lines.append("sound \(counts(of: findings))") }
        lines += damage(findings)
        lines.append(
            findings.isSound
                ? "no damage was found"
                : "the log is damaged: stop notifyd, and write the sound data to a new file with: "
                    + "notifyd --repair '\(check.path)'")
        return lines
    }

    /// A line about what was checked.
    private static func checked(_ check: FileCheck) -> String {
        guard check.hasReadStructure else {
            return check.hasReadRows
                ? "checked: the rows of the log's tables; SQLite's structure was not checked to its end: see the damage"
                : "checked: the schema only"
        }
        return check.hasReadRows
            ? "checked: SQLite's structure, the checksum of every row, the counts of segments, the cursors"
            : "checked: SQLite's structure only, because rows of an earlier schema are migrated first"
    }

    private static func counts(of findings: LogFindings) -> String {
        "messages: \(findings.messages), names: \(findings.names), closed segments: \(findings.segments), "
            + "durable subscriptions: \(findings.subscriptions), values: \(findings.values)"
    }

    private static func damage(_ findings: LogFindings) -> [String] {
        var lines: [String] = []
        if findings.damagedMessages > 0 {
            lines.append("damaged messages: \(findings.damagedMessages) (\(list(findings.damagedRanges)))")
        }
        lines += findings.problems.prefix(maximumLines).map { "damaged: \($0.text)" }
        let more = findings.problemCount - UInt64(min(findings.problems.count, maximumLines))
        if more > 0 { lines.append("damaged: \(more) more") }
        return lines
    }

    private static func text(of repair: FileRepair) -> [String] {
        var lines = damage(repair.findings)
        if repair.lostMessages > 0 {
            lines.append("lost messages: \(repair.lostMessages) (\(list(repair.lostRanges)))")
        }
        let ranges = repair.unreadable.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound) }
        if !ranges.isEmpty { lines.append("lost: the messages that can't be read: \(list(ranges))") }
        lines += repair.lostSubscriptions.prefix(maximumLines).map { "lost: durable subscription \($0)" }
        lines += repair.changedSubscriptions.prefix(maximumLines).map { "changed: durable subscription \($0)" }
        if repair.isStateLost {
            lines.append("changed: sequences continue at \(repair.nextSequence), under another epoch")
        }
        if repair.findings.isSound, !repair.isStateLost { lines.append("no damage was found: nothing is lost") }
        lines.append(
            "kept messages: \(repair.messages), durable subscriptions: \(repair.subscriptions), "
                + "values: \(repair.values), in '\(repair.newPath)'")
        lines.append(
            "to use it, while notifyd is stopped: notifyd --restore '\(repair.newPath)' --database '\(repair.path)'")
        return lines
    }

    private static func list(_ ranges: [SequenceRange]) -> String {
        let shown = ranges.prefix(maximumLines).map { range in
            switch range.last {
            case range.first: "\(range.first)"
            case UInt64(Int64.max)...: "from \(range.first) on"
            default: "\(range.first) to \(range.last)"
            }
        }
        return shown.joined(separator: ", ") + (ranges.count > maximumLines ? ", …" : "")
    }
}
