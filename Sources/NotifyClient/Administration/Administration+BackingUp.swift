import NIOCore
import NotifyWire

extension NotificationClient.Administration {
    /// The progress of a backup.
    public struct BackupProgress: Hashable, Sendable {
        /// The bytes written so far.
        public let written: UInt64
        /// The size of the complete backup in bytes.
        public let total: UInt64
    }

    /// Writes a backup of the daemon's log to a file: all stored messages and durable subscriptions. Posts and
    /// deliveries continue meanwhile. The daemon makes one backup at a time: other clients wait for theirs.
    /// `notifyd --restore` replaces the log by a backup.
    ///
    /// The daemon first copies the log beside its database. The client writes the file with mode 0600, and names it
    /// once it is complete and flushed, so that `path` is never an incomplete backup. Until then, the file has no name
    /// or, on file systems without such files, another name in the same folder. The method blocks the caller's thread
    /// while it writes.
    ///
    /// - Parameters:
    ///   - path: The file to write.
    ///   - replacesFile: Whether to replace an existing backup or empty file. If false, the backup fails if the file
    ///     exists. A file of another kind is never replaced.
    ///   - progress: Called when the daemon has copied its log, and after each piece that was written.
    /// - Throws: ``NotifyError``, such as `forbidden` for a user who may not manage everything, `limitReached` if 8
    ///   others wait for a backup, or if this client read nothing of its backup for 30 s while another client waited,
    ///   `logFull` if the daemon's disk lacks room for a copy, `fileNotWritten`, or `invalidArgument` if the file is
    ///   one of the daemon's own, or while this client makes another backup.
    public nonisolated(nonsending) func backUp(
        to path: String, replacingFile replacesFile: Bool = false, progress: (BackupProgress) -> Void = { _ in }
    ) async throws(NotifyError) {
        try await backUp(to: BackupTarget(path: path, replacesFile: replacesFile), progress)
    }

    /// Writes a backup of the daemon's log to an open file, such as a pipe, as ``backUp(to:replacingFile:progress:)``
    /// does to a file with a path. After an error, the written bytes are an incomplete backup.
    ///
    /// - Parameters:
    ///   - descriptor: The open file. It stays open. A broken pipe ends the process, unless the process ignores
    ///     `SIGPIPE`.
    ///   - progress: Called when the daemon has copied its log, and after each piece that was written.
    /// - Throws: ``NotifyError``, as for a file with a path.
    public nonisolated(nonsending) func backUp(
        toDescriptor descriptor: Int32, progress: (BackupProgress) -> Void = { _ in }
    ) async throws(NotifyError) {
        try await backUp(to: BackupStream(descriptor: descriptor), progress)
    }

    private nonisolated(nonsending) func backUp(
        to target: some BackupOutput, _ progress: (BackupProgress) -> Void
    ) async throws(NotifyError) {
        do {
            try await copyBackup(to: target, progress)
        } catch {
            // Without this, the daemon would keep its copy until the connection ends.
            if !error.isRefusal, error.code != .connectionLost { client.core.endBackup() }
            throw error
        }
        client.core.endBackup()
        try target.finish()
    }

    private nonisolated(nonsending) func copyBackup(
        to target: some BackupOutput, _ progress: (BackupProgress) -> Void
    ) async throws(NotifyError) {
        let location = target.location
        let total = try await ask(BackupRequest(target: location)).bytes
        var written: UInt64 = 0
        progress(BackupProgress(written: written, total: total))
        while written < total {
            let chunk = try await ask(BackupChunkRequest(offset: written)).bytes
            guard chunk.readableBytes > 0 else { throw .protocolViolation(.unexpected) }
            try target.write(chunk)
            written += UInt64(chunk.readableBytes)
            progress(BackupProgress(written: written, total: total))
        }
    }
}
