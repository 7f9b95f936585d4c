import Testing

@testable import NotifyCenter

@Suite struct GrowableMemoryTests {
    @Test func `the content is kept when the memory grows`() {
        var memory = GrowableMemory()
        var written = 0
        for size in [1 << 10, 4 << 20, 16 << 20, 64 << 20] {
            memory.grow(to: size, alignment: 64)
            for offset in stride(from: written, to: size, by: 512) {
                memory.start?.storeBytes(of: UInt64(offset), toByteOffset: offset, as: UInt64.self)
            }
            written = size
        }
        let changed = stride(from: 0, to: written, by: 512).count { offset in
            memory.start?.load(fromByteOffset: offset, as: UInt64.self) != UInt64(offset)
        }
        #expect(changed == 0)
    }

    @Test func `large memory grows in place`() {
        var memory = GrowableMemory()
        memory.grow(to: 8 << 20, alignment: 64)
        let start = memory.start
        for doubling in 1...5 { memory.grow(to: (8 << 20) << doubling, alignment: 64) }
        let grown = memory.start
        #expect(grown == start)
        #expect(start.map { Int(bitPattern: $0) % (2 << 20) } == 0)
    }

    @Test func `released memory can grow again`() {
        var memory = GrowableMemory()
        for size in [16 << 20, 1 << 10] {
            memory.grow(to: size, alignment: 64)
            memory.start?.storeBytes(of: 1, toByteOffset: size - 1, as: UInt8.self)
            memory.release()
            let start = memory.start
            #expect(start == nil)
        }
    }
}
