! Copies an array to a device and back, through hipfort.
program hipfort_copy
  use iso_c_binding
  use hipfort
  use hipfort_check
  implicit none
  integer, parameter :: n = 1000
  real(8), target :: a(n), b(n)
  type(c_ptr) :: d = c_null_ptr
  integer :: i, devices
  call hipCheck(hipGetDeviceCount(devices))
  if (devices < 1) error stop "no device"
  a = [(real(i, 8), i = 1, n)]
  b = 0
  call hipCheck(hipMalloc(d, int(n * 8, c_size_t)))
  call hipCheck(hipMemcpy(d, c_loc(a), int(n * 8, c_size_t), hipMemcpyHostToDevice))
  call hipCheck(hipMemset(d, 0, 8_c_size_t))
  call hipCheck(hipMemcpy(c_loc(b), d, int(n * 8, c_size_t), hipMemcpyDeviceToHost))
  call hipCheck(hipFree(d))
  if (b(1) /= 0 .or. any(b(2:) /= a(2:))) error stop "wrong values"
  print *, "right"
end program
