import NotifyLog
import Testing

@testable import NotifyBroker

struct LiveRunTests {
    private let one = ReaderID(slot: 1, generation: 0)
    private let two = ReaderID(slot: 2, generation: 0)

    /// The runs that messages of 10 bytes form: the reader and the range of each run.
    private func runs(_ messages: [(index: Int, reader: ReaderID)], maximumBytes: Int = 1_000) -> [String] {
        var run = LiveRun(maximumBytes: maximumBytes)
        let entry = LogBlock.Entry(sequence: 1, offset: 0, length: 10)
        var ended = messages.compactMap { run.add(entry, at: $0.index, for: $0.reader) }
        if let last = run.messages { ended.append(last) }
        return ended.map { "\($0.reader.slot): \($0.range)" }
    }

    @Test func `adjacent messages for one reader form a run`() {
        #expect(runs([(0, one), (1, one), (2, one)]) == ["1: 0..<3"])
    }

    @Test func `a message for another reader begins a run, and so does a message that is not adjacent`() {
        #expect(runs([(0, one), (1, one), (1, two), (3, two)]) == ["1: 0..<2", "2: 1..<2", "2: 3..<4"])
        #expect(runs([(0, one), (0, two), (1, one), (1, two)]) == ["1: 0..<1", "2: 0..<1", "1: 1..<2", "2: 1..<2"])
    }

    @Test func `a run ends at its size`() {
        let messages = (0..<5).map { (index: $0, reader: one) }
        #expect(runs(messages, maximumBytes: 20) == ["1: 0..<2", "1: 2..<4", "1: 4..<5"])
        #expect(runs(messages, maximumBytes: 0) == (0..<5).map { "1: \($0)..<\($0 + 1)" })
    }

    @Test func `without messages, there is no run`() {
        #expect(runs([]).isEmpty)
    }
}
