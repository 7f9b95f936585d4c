import Foundation
import NIOCore
import NotifyStore
import NotifyWire
import TestSupport
import Testing

extension Store {
    /// Stores messages of 1,000 bytes.
    func store(_ sequences: ClosedRange<UInt64>) async {
        await commit(sequences.map { .backedUp($0) }, reserveBelow: 1 << 24)
        sequencesUsed(below: sequences.upperBound + 1)
    }

    /// Writes a backup to a file.
    func backUp(to path: String) async throws {
        let size = try await completion { beginBackup(target: .none, completion: $0) }.get()
        var bytes: [UInt8] = []
        while UInt64(bytes.count) < size {
            let offset = UInt64(bytes.count)
            let chunk = try await completion {
                readBackup(from: offset, maximumBytes: 100_000, completion: $0)
            }.get()
            bytes += chunk.readableBytesView
        }
        endBackup()
        #expect(UInt64(bytes.count) == size)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}

extension StoredMessage {
    /// The message that `Store.store` stores.
    static func backedUp(_ sequence: UInt64) -> StoredMessage {
        StoredMessage(sequence, payload: Array(repeating: UInt8(truncatingIfNeeded: sequence), count: 1000))
    }
}

extension FileLocation {
    /// The location of no file.
    static let none = FileLocation(device: 0, inode: 0, name: "")
}
