import TestSupport

/// Losses of power: the process dies at some write, and a part of the unflushed changes is missing afterwards.
extension TemporaryFolder {
    /// A new folder that can lose power.
    static func thatLosesPower() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
        FaultyDisk.keepUnflushedChanges(in: folder.path)
        return folder
    }

    /// Lets the process die at one of its next operations on files.
    func diesSoon(within operations: Int, using generator: inout SeededGenerator) {
        FaultyDisk.set(.death, in: path, after: .random(in: 1...operations, using: &generator))
    }

    /// Loses the power. Must be called when no database in the folder is open.
    func losePower(using generator: inout SeededGenerator) throws {
        try FaultyDisk.losePower(in: path, using: &generator)
        FaultyDisk.set(nil, in: path)
    }
}
