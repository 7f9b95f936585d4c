import Foundation

/// A file's contents at its last flush, and its changes since then.
struct UnflushedChanges {
    enum Change {
        case write(Data, offset: Int)
        case truncate(to: Int)
    }

    private static let sectorBytes = 512

    let flushed: Data
    var changes: [Change] = []

    init(flushed: Data) {
        self.flushed = flushed
    }

    /// The contents that a loss of power leaves: each sector of each write is either there or not.
    func contents(using generator: inout some RandomNumberGenerator) -> Data {
        var contents = flushed
        // Some losses leave all unflushed changes, or none.
        let kept = [0, 50, 90, 100].randomElement(using: &generator) ?? 50
        for change in changes {
            switch change {
            case .truncate(let size):
                if Int.random(in: 0..<100, using: &generator) < kept { contents = contents.prefix(size) }
            case .write(let data, let offset):
                for start in stride(from: 0, to: data.count, by: Self.sectorBytes)
                where Int.random(in: 0..<100, using: &generator) < kept {
                    let sector = data.dropFirst(start).prefix(Self.sectorBytes)
                    let end = offset + start + sector.count
                    if contents.count < end { contents.append(Data(count: end - contents.count)) }
                    contents.replaceSubrange(offset + start..<end, with: sector)
                }
            }
        }
        return contents
    }
}
