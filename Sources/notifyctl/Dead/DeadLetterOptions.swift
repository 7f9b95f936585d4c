import ArgumentParser
import NotifyClient

/// The arguments that select dead letters.
struct DeadLetterOptions: ParsableArguments {
    @Argument(help: "The durable subscription; all by default.", completion: DurableCommand.nameCompletion)
    var durable: String?

    @Option(
        name: .customLong("id"), parsing: .upToNextOption,
        help: ArgumentHelp("Only the dead letters with these sequences.", valueName: "sequence"),
        transform: { try SequenceArgument.sequence($0, of: "dead letter") })
    var sequences: [UInt64] = []

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "The owner of the durable subscriptions, by name or uid; you by default.", valueName: "user"),
        completion: .shellCommand("cut -d : -f 1 /etc/passwd"), transform: { try UserNames.uid(argument: $0) })
    var uid: UInt32?

    /// Each given sequence once, in order; nil if all dead letters are selected.
    var selected: [UInt64]? { sequences.isEmpty ? nil : Set(sequences).sorted() }

    /// The line to print if there is no selected dead letter.
    var emptyNotice: String {
        let user = uid.map(UserNames.text)
        if durable == nil, sequences.isEmpty {
            return "there are no dead letters\(user.map { " of user \($0)" } ?? "")"
        }
        let all = user.map { "'notifyctl dead list --user \($0)' lists all of this user" }
        return "there are no such dead letters: \(all ?? "'notifyctl dead list' lists all of yours")"
    }

    /// Reads the selected dead letters, oldest first. Sequences without a dead letter are left out. Gaps are reported
    /// on standard error if all dead letters are selected.
    func read(
        _ client: NotificationClient, _ body: (Administration.DeadLetter) throws -> Void
    ) async throws {
        guard let selected else {
            var isEmpty = true
            for try await letter in try await client.administration.deadLetters(
                of: durable, uid: uid, onGap: Self.report)
            {
                isEmpty = false
                try body(letter)
            }
            if isEmpty { try await checkDurable(client) }
            return
        }
        for sequence in selected {
            do {
                let letters = try await client.administration.deadLetters(
                    of: durable, from: .sequence(sequence), limit: 1, uid: uid)
                for try await letter in letters where letter.sequence == sequence { try body(letter) }
            } catch let error as NotifyError where error.code == .invalidArgument {
                // The sequence is beyond the end of the log, so no dead letter has it.
            }
        }
    }

    private static func report(_ gap: NotificationClient.Gap) { StandardError.write("\(gap)") }

    /// Checks that the durable subscription exists. Call this only if no dead letters were found, because a removed
    /// subscription may still have dead letters.
    ///
    /// - Throws: `unknownSubscription` if the subscription does not exist.
    func checkDurable(_ client: NotificationClient) async throws {
        if let durable { _ = try await client.administration.durableSubscription(durable, uid: uid) }
    }
}
