import ArgumentParser
import Glibc
import NotifyClient
import Synchronization
import SystemPackage

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write a backup of all stored messages and durable subscriptions.",
        discussion: """
            The daemon continues to work meanwhile. It makes one backup at a time; up to 8 others wait. The daemon \
            first makes a copy beside its database, so its disk needs room for the copy. The backup gets its name when \
            it is complete. With '-', the backup goes to standard output, which must not be a terminal. To restore a \
            backup, stop the daemon and run 'notifyd --restore FILE'. Only root and the daemon's user may make \
            backups, unless the policy allows others to manage.

            EXAMPLES
              sudo notifyctl backup /var/backups/notifyd.db
              sudo notifyctl backup --force /var/backups/notifyd.db
              sudo notifyctl backup - | gzip > notifyd.db.gz
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(
        help: ArgumentHelp("The file to write; '-' for standard output.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Replace the file if it is a backup, or empty.")
    var force = false

    private var isToOutput: Bool { file == "-" }

    func validate() throws {
        guard isToOutput else { return }
        guard !force else { throw ValidationError("--force replaces a file, and '-' is standard output") }
        guard isatty(STDOUT_FILENO) == 0 else {
            throw ValidationError("a backup is not written to a terminal: redirect standard output, or name a file")
        }
    }

    /// The error to exit with. If standard output can't be written, the same error as in every other command.
    private static func failure(_ error: any Error) -> any Error {
        guard let failure = error as? NotifyError, failure.code == .fileNotWritten, let reason = failure.cause as? Errno
        else { return error }
        return reason == .brokenPipe ? CommandFailure.readerClosed : CommandFailure.unwritable("\(reason)")
    }

    func run() async throws {
        let (file, force, configuration) = (file, force, connection.configuration())
        let written = Atomic<UInt64>(0)
        let interrupted = CommandFailure(.failure, "interrupted; no backup was written")
        try await Interruption.run(incomplete: interrupted, endingWithin: AnswerTimeout.current) { _ in
            let bar = ProgressBar()
            defer { bar.clear() }
            try await withNotificationClient(configuration: configuration) { client in
                bar.show("the daemon copies its log")
                var total: UInt64 = 0
                func show(_ progress: Administration.BackupProgress) {
                    total = progress.total
                    bar.show(progress.written, of: total)
                }
                // A write may wait for the reader of the output.
                try await withTaskExecutorPreference(Blocking.executor) {
                    if file == "-" {
                        do {
                            try await client.administration.backUp(toDescriptor: STDOUT_FILENO, progress: show)
                        } catch {
                            throw Self.failure(error)
                        }
                    } else {
                        try await client.administration.backUp(to: file, replacingFile: force, progress: show)
                    }
                }
                written.store(total, ordering: .relaxed)
            }
        }
        let bytes = written.load(ordering: .relaxed)
        guard bytes > 0 else { throw interrupted }
        if isToOutput { return }
        var output = StandardOutput()
        output.append("wrote \(file) (\(Quantities.bytes(bytes)))\n")
        try output.flush()
    }
}
