import ArgumentParser
import NotifyClient
import Synchronization

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write a backup of all stored messages and durable subscriptions.",
        discussion: """
            The daemon goes on working meanwhile. It makes a copy beside its database, so its disk needs room for that. \
            The file is complete once it has its name. To restore a backup, stop the daemon and run \
            'notifyd --restore FILE'. Only root and the daemon's user may make backups, unless the policy allows others \
            to manage.

            EXAMPLES
              sudo notifyctl backup /var/backups/notifyd.db
              sudo notifyctl backup --force /var/backups/notifyd.db
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Replace the file if it exists.")
    var force = false

    func run() async throws {
        let (file, force, configuration) = (file, force, connection.configuration())
        let written = Atomic<UInt64>(0)
        try await Interruption.run { _ in
            let bar = ProgressBar()
            defer { bar.clear() }
            try await withNotifyClient(configuration: configuration) { client in
                bar.show("the daemon copies its log")
                var total: UInt64 = 0
                try await client.backUp(to: file, replacingFile: force) { progress in
                    total = progress.total
                    bar.show(progress.written, of: total)
                }
                written.store(total, ordering: .relaxed)
            }
        }
        let bytes = written.load(ordering: .relaxed)
        guard bytes > 0 else { throw CommandFailure(.failure, "interrupted; no backup was written") }
        var output = StandardOutput()
        output.append("wrote \(file) (\(Quantities.bytes(bytes)))\n")
        try output.flush()
    }
}
