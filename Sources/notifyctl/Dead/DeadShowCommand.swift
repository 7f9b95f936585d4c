import ArgumentParser
import NotifyClient

struct DeadShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print dead letters with their headers and payloads.",
        discussion: """
            Prints when the last delivery failed and why, the number of deliveries, and the original message: its name, \
            object, time, sequence, poster, headers and payload. Control characters in the payload are replaced; --json \
            prints it unchanged, or in base64 if it is not text. \(TimeOptions.discussion)

            EXAMPLES
              notifyctl dead show billing
              notifyctl dead show --id 4711 --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var letters: DeadLetterOptions
    @OptionGroup var time: TimeOptions

    @Flag(help: "Print one JSON object for each dead letter, on a line of its own.")
    var json = false

    func run() async throws {
        let times = time.style
        let count = try await withNotificationClient(configuration: connection.configuration()) {
            [letters, json] client in
            var output = StandardOutput()
            var count = 0
            try await letters.read(client) { letter in
                if !json, count > 0 { output.append("\n") }
                output.gather { json ? Self.appendJSON(letter, to: &$0) : Self.appendText(letter, times, to: &$0) }
                count += 1
                if output.isFull { try output.flush() }
            }
            try output.flush()
            return count
        }
        if let selected = letters.selected, count < selected.count {
            throw CommandFailure(.failure, DeadLetterText.missing(selected.count - count))
        }
        if count == 0 { StandardError.write(letters.emptyNotice) }
    }

    private static func appendText(
        _ letter: Administration.DeadLetter, _ times: TimeStyle, to bytes: inout [UInt8]
    ) {
        bytes.append(contentsOf: DeadLetterRow(letter).text(times).utf8)
        for (key, value) in letter.headers {
            bytes.append(contentsOf: "header      \(Table.printable(key)): \(Table.printable(value))\n".utf8)
        }
        bytes.append(UInt8(ascii: "\n"))
        let start = bytes.count
        bytes.append(contentsOf: letter.payload)
        MessageFormat.replaceControls(in: &bytes, from: start)
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func appendJSON(_ letter: Administration.DeadLetter, to bytes: inout [UInt8]) {
        var json = JSONWriter()
        json.object { json in
            DeadLetterRow(letter).write(to: &json)
            json.member("headers", letter.headers)
            json.member("payload", text: letter.text, payload: letter.payload)
        }
        bytes.append(contentsOf: json.bytes)
        bytes.append(UInt8(ascii: "\n"))
    }
}
