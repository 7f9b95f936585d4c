import Foundation
import TestSupport
import Testing

@testable import NotifyStore

struct DiskReserveTests {
    private static let checkpointBytes = 1 << 20
    private static let whole: UInt64 = 7 << 20
    private static let forDeletions: UInt64 = 5 << 20

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open() -> DiskReserve {
        DiskReserve(beside: folder.database, checkpointBytes: Self.checkpointBytes)
    }

    private var fileBytes: UInt64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.database + ".reserve")
        return attributes?[.size] as? UInt64
    }

    @Test func `a disk with room has a whole reserve, in two parts`() {
        let reserve = open()
        reserve.make(freeBytes: 4 * Self.whole)
        #expect(reserve.isHeld && reserve.isForDeletions && !reserve.isReleased && !reserve.keepsLogShort)
        #expect(fileBytes == Self.whole)
        #expect(reserve.release(for: .change))
        #expect(!reserve.release(for: .change))
        #expect(fileBytes == Self.forDeletions)
        #expect(reserve.isForDeletions && reserve.releasedBytes == Self.whole && reserve.keepsLogShort)
        #expect(reserve.release(for: .deletion))
        #expect(!reserve.release(for: .deletion))
        #expect(fileBytes == nil && !reserve.isForDeletions && reserve.releasedBytes == Self.whole)
    }

    @Test func `a disk without room for the whole reserve has a small one for deletions`() throws {
        let reserve = open()
        reserve.make(freeBytes: 4 * Self.whole - 1)
        #expect(!reserve.isHeld && reserve.isForDeletions && !reserve.isReleased && reserve.keepsLogShort)
        let small = try #require(fileBytes)
        #expect(small >= Self.forDeletions && small < Self.whole)
        #expect(!reserve.release(for: .change))
        #expect(reserve.release(for: .deletion))
        #expect(fileBytes == nil && reserve.releasedBytes == small)
        reserve.make(freeBytes: 4 * small)
        #expect(fileBytes == small && reserve.isForDeletions && !reserve.isReleased)
        reserve.make(freeBytes: 4 * Self.whole)
        #expect(fileBytes == Self.whole && reserve.isHeld)
    }

    @Test func `a disk without room for a small reserve has none`() {
        let reserve = open()
        reserve.make(freeBytes: 4 * Self.forDeletions)
        #expect(fileBytes == nil && !reserve.isForDeletions && !reserve.release(for: .deletion))
    }

    @Test func `a smaller reserve does not replace a whole one that was released`() {
        let reserve = open()
        reserve.make(freeBytes: 4 * Self.whole)
        #expect(reserve.release(for: .deletion))
        reserve.make(freeBytes: 4 * Self.whole - 1)
        #expect(reserve.isForDeletions && reserve.releasedBytes == Self.whole)
        reserve.make(freeBytes: 4 * Self.whole)
        #expect(!reserve.isReleased)
    }

    @Test func `the next start finds the reserve as it was`() {
        let whole = open()
        whole.make(freeBytes: 4 * Self.whole)
        let again = open()
        #expect(again.isHeld && !again.isReleased)
        #expect(again.release(for: .change))
        let part = open()
        #expect(!part.isHeld && part.isForDeletions && part.releasedBytes == Self.whole)
        #expect(part.release(for: .deletion))
        open().make(freeBytes: 4 * Self.whole - 1)
        let small = open()
        #expect(!small.isHeld && small.isForDeletions && !small.isReleased)
    }
}
