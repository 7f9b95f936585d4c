import NotifyClient

/// The texts about retried and purged dead letters.
enum DeadLetterText {
    /// Prints the result, and throws if not all selected dead letters were processed.
    static func report(
        _ done: String, _ result: Administration.DeadLetterResult, of selected: [UInt64]?
    ) throws {
        var output = StandardOutput()
        output.append("\(done) \(letters(result.messages))\n")
        try output.flush()
        if let failure = failure(messages: result.messages, kept: result.kept, of: selected?.count) {
            throw CommandFailure(.failure, failure)
        }
    }

    /// - Parameter selected: The number of dead letters that were selected; nil for all.
    /// - Returns: The reason why dead letters were not processed; nil if all were processed.
    static func failure(messages: UInt64, kept: UInt64, of selected: Int?) -> String? {
        var failures: [String] = []
        if kept > 0 {
            failures.append(
                "\(letters(kept)) kept: the durable subscription does not exist, does not match the message or may not "
                    + "receive it any more, or too many of its messages wait for redelivery (see 'notifyctl durable "
                    + "list')")
        }
        let found = Int(clamping: messages) + Int(clamping: kept)
        if let selected, found < selected { failures.append(missing(selected - found)) }
        return failures.isEmpty ? nil : failures.joined(separator: "; ")
    }

    static func missing(_ count: Int) -> String {
        "\(letters(UInt64(count))) not found: --id takes the sequences that 'notifyctl dead list' shows, "
            + "not those of the messages"
    }

    private static func letters(_ count: UInt64) -> String { "\(count) dead \(count == 1 ? "letter" : "letters")" }
}
