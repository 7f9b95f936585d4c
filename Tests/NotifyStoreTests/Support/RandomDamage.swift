import Foundation
import TestSupport

extension StoredMessage {
    /// A hundred messages of seven names, with and without an object, and with random payloads.
    static func hundred(using generator: inout SeededGenerator) -> [StoredMessage] {
        (UInt64(1)...100).map { sequence in
            let size = Int.random(in: 0...200, using: &generator)
            return StoredMessage(
                sequence, "name.\(sequence % 7)", object: sequence % 3 == 0 ? "object" : "",
                payload: (0..<size).map { _ in UInt8.random(in: 0 ... .max, using: &generator) })
        }
    }
}

extension Data {
    /// The same bytes with `bits` random bits flipped.
    func flipping(_ bits: Int, using generator: inout SeededGenerator) -> Data {
        var data = self
        for _ in 0..<bits {
            data[Int.random(in: 0..<count, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        }
        return data
    }
}
