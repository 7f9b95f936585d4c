import TestSupport
import Testing

@testable import NotifyBroker

/// Watches of the client library while more values change before each page than a page contains.
struct ConstantChangeTests {
    private static let names = (0..<20).map { "n\($0)" }

    private final class Load {
        let store = FakeStore()
        let host: TestHost
        let watch: ModelWatch
        private let (writer, reader): (Client, Client)
        private var random: SeededGenerator
        private var number = 0

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            store.valuesPerPage = Int.random(in: 2...4, using: &random)
            host = TestHost(store: store)
            (writer, reader) = (host.connect(), host.connect())
            watch = try ModelWatch(log: store)
            for name in names + ["hot", "quiet"] { set(name) }
            host.run()
        }

        /// The pages for all values.
        var pages: Int { (names.count + 2 + store.valuesPerPage - 1) / store.valuesPerPage }

        func set(_ name: String) {
            number += 1
            writer.setValue(name, "\(number)")
        }

        /// Changes more values than a page contains, `hot` last, and reads a page.
        func turn() {
            for name in names.shuffled(using: &random).prefix(store.valuesPerPage + 1) { set(name) }
            set("hot")
            host.run()
            read()
        }

        func read() {
            watch.read(reader, maximum: 100)
            host.run()
            watch.receive(ValueAnswers(reader))
            _ = writer.take()
        }

        /// Changes values and reads pages until the condition is met.
        ///
        /// - Returns: Whether at most `maximum` pages were read.
        func turns(_ maximum: Int, until isDone: () -> Bool) -> Bool {
            for _ in 0..<maximum where !isDone() { turn() }
            return isDone()
        }
    }

    @Test(arguments: (1...10) + Seeds.new(20, for: "ConstantChangeTests"))
    func `a watch gets its mark, and shows every value again and again`(_ seed: UInt64) throws {
        let load = try Load(seed: seed)
        let (pages, watch) = (load.pages, load.watch)
        // All values by key, the announced ones, and the changes up to the last of these pages.
        #expect(load.turns(2 * pages + 2) { watch.isMarked }, "a watch has no mark after its values")
        for _ in 0..<5 {
            // The rest of the values by key, the changes up to the end at which the watch fell behind, and all values by
            // key.
            let most = 3 * pages + 3
            let hot = watch.state["hot/"]?.sequence
            #expect(load.turns(most) { watch.state["hot/"]?.sequence != hot }, "a watch does not show a busy value")
            load.set("quiet")
            load.host.run()
            let quiet = load.host.lastSequence
            #expect(load.turns(most) { watch.state["quiet/"]?.sequence == quiet }, "a watch does not show a value")
        }
        for _ in 0..<4 * pages where !watch.isReading { load.read() }
        #expect(watch.isReading && watch.counts.readsBehind > 0)
        let stored = load.store.values.values.map { ($0.message.key, $0.message.sequence) }
        #expect(watch.values.mapValues(\.sequence) == Dictionary(uniqueKeysWithValues: stored))
    }
}
