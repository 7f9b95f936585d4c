import ArgumentParser
import NotifyClient

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Print the damage of the daemon's log.",
        discussion: """
            Prints the damage that the daemon has found while it read the log. The daemon skips a damaged message, and \
            subscribers get a gap in its place. While there is other damage, the daemon refuses to store. The exit \
            status is 0 if no damage is known, 1 if the log is damaged. Only root and the daemon's user may check, \
            unless the policy allows others to manage.

            With --full, the daemon first reads all of the log, in short pieces between other work, and compares the \
            checksum of every row. It does not check the indexes and the free pages of the database, because that \
            check can't be divided: use 'notifyd --check' while the daemon is stopped.

            To check or repair a log while no daemon uses it, see notifyd --check and notifyd --repair.

            EXAMPLES
              sudo notifyctl check
              sudo notifyctl check --full
            """)

    /// The maximum number of ranges of damaged messages to print.
    private static let maximumLines = 32

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Check every row of the log.")
    var full = false

    @Flag(help: "Print one line of JSON.")
    var json = false

    func run() async throws {
        let progress = ProgressBar()
        defer { progress.clear() }
        let check = try await withNotificationClient(configuration: connection.configuration()) { [full] client in
            try await client.administration.check(full: full) { progress.show("checked \($0) %") }
        }
        progress.clear()
        var output = StandardOutput()
        if json {
            var writer = JSONWriter()
            Self.write(check, to: &writer)
            writer.bytes.withUnsafeBytes { output.append($0) }
            output.append("\n")
        } else {
            for line in Self.lines(of: check) { output.append(line + "\n") }
        }
        try output.flush()
        if !check.isSound { throw CommandFailure(.failure) }
    }

    static func lines(of check: Administration.LogCheck) -> [String] {
        var lines: [String] = []
        if let sound = check.sound {
            lines.append(
                "sound messages: \(sound.messages), names: \(sound.names), closed segments: \(sound.segments), "
                    + "durable subscriptions: \(sound.subscriptions)")
        }
        if check.damagedMessages > 0 {
            let shown = check.damagedSequences.prefix(maximumLines).map { range in
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            }
            let more = check.damagedSequences.count > maximumLines ? ", …" : ""
            lines.append("damaged messages: \(check.damagedMessages) (\(shown.joined(separator: ", "))\(more))")
        }
        lines += check.problems.map { "damaged: \($0.text)" }
        let more = check.problemCount - min(check.problemCount, UInt64(check.problems.count))
        if more > 0 { lines.append("damaged: \(more) more") }
        if let problem = check.storageProblem { lines.append("posts to be stored are refused: \(problem)") }
        lines.append(
            check.isSound
                ? check.sound == nil ? "no damage is known; --full checks every row" : "no damage was found"
                : "to write the sound data to a new file, stop notifyd, then run notifyd --repair as its user")
        return lines
    }

    static func write(_ check: Administration.LogCheck, to json: inout JSONWriter) {
        json.object { json in
            json.member("sound", check.isSound)
            json.member("full", check.sound != nil)
            json.optionalMember("sound_messages", check.sound?.messages)
            json.optionalMember("sound_names", check.sound?.names)
            json.optionalMember("sound_segments", check.sound?.segments)
            json.optionalMember("sound_subscriptions", check.sound?.subscriptions)
            json.member("damaged_messages", check.damagedMessages)
            json.key("damaged_sequences")
            json.array { json in
                for range in check.damagedSequences {
                    json.object { json in
                        json.member("first_sequence", range.lowerBound)
                        json.member("last_sequence", range.upperBound)
                    }
                }
            }
            json.member("problem_count", check.problemCount)
            json.key("problems")
            json.array { json in
                for problem in check.problems {
                    json.object { json in
                        json.member("part", problem.part.rawValue)
                        json.member("text", problem.text)
                    }
                }
            }
        }
    }
}
