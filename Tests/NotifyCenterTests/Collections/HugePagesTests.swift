import Foundation
import Testing

@testable import NotifyCenter

@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/sys/kernel/mm/transparent_hugepage")))
struct HugePagesTests {
    /// Whether huge pages were requested for the page at an address.
    private func isRequested(_ address: UnsafeRawPointer) throws -> Bool {
        let address = UInt(bitPattern: address)
        var isInRange = false
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            if bounds.count == 2 {
                isInRange = (bounds[0]..<bounds[1]).contains(address)
            } else if isInRange, line.hasPrefix("VmFlags:") {
                return line.split(separator: " ").contains("hg")
            }
        }
        Issue.record("no memory is mapped at \(address)")
        return false
    }

    @Test(arguments: [(1 << 20, false), (16 << 20, true)])
    func `huge pages are requested for large memory`(byteCount: Int, isLarge: Bool) throws {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64)
        defer { memory.deallocate() }
        HugePages.request(for: memory)
        #expect(try isRequested(memory.baseAddress! + byteCount / 2) == isLarge)
    }

    @Test func `the values of a large pool are on huge pages`() throws {
        var pool = Pool<UInt64>()
        for value in 0..<UInt64(2 << 20) { _ = pool.insert(value) }
        #expect(try isRequested(pool.pointer(1 << 20)))
        #expect(pool[1 << 20] == 1 << 20)
    }
}
