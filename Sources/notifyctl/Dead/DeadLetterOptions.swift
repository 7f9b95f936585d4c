import ArgumentParser
import NotifyClient

/// The arguments that select dead letters.
struct DeadLetterOptions: ParsableArguments {
    @Argument(help: "The durable subscription; all by default.", completion: DurableCommand.nameCompletion)
    var durable: String?

    @Option(
        name: .customLong("id"), parsing: .upToNextOption,
        help: ArgumentHelp("Only the dead letters with these sequences.", valueName: "sequence"))
    var sequences: [UInt64] = []

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "The owner of the durable subscriptions, by name or uid; you by default.", valueName: "user"),
        completion: .shellCommand("cut -d : -f 1 /etc/passwd"), transform: { try UserNames.uid(argument: $0) })
    var uid: UInt32?

    func validate() throws {
        if sequences.contains(0) { throw ValidationError("--id must be at least 1") }
    }

    /// Each given sequence once, in order; nil if all dead letters are selected.
    var selected: [UInt64]? { sequences.isEmpty ? nil : Set(sequences).sorted() }

    /// What to print if no dead letter is selected.
    var emptyNotice: String {
        durable == nil && sequences.isEmpty && uid == nil
            ? "there are no dead letters" : "there are no such dead letters: 'notifyctl dead list' lists all of yours"
    }

    /// Reads the selected dead letters, oldest first. Sequences without a dead letter are left out.
    func read(
        _ client: NotifyClient, _ body: (NotifyClient.DeadLetter) throws -> Void
    ) async throws {
        guard let selected else {
            for try await letter in try await client.deadLetters(of: durable, uid: uid) { try body(letter) }
            return
        }
        for sequence in selected {
            let letters = try await client.deadLetters(of: durable, from: .sequence(sequence), limit: 1, uid: uid)
            for try await letter in letters where letter.sequence == sequence { try body(letter) }
        }
    }
}
