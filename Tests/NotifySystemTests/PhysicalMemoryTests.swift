import Foundation
import NotifySystem
import Testing

struct PhysicalMemoryTests {
    @Test func `the physical memory is the kernel's MemTotal`() throws {
        let lines = try String(contentsOfFile: "/proc/meminfo", encoding: .utf8).split(separator: "\n")
        let total = try #require(lines.first { $0.hasPrefix("MemTotal:") })
        let kilobytes = try #require(total.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        #expect(PhysicalMemory.bytes == kilobytes * 1024)
    }
}
