#pragma once

/// The number of allocations by the calling thread.
unsigned long allocation_count(void);
